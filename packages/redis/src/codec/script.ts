/// <reference path="../lua.d.ts" />

import bucketTakes from '../algorithms/bucket/takes.lua';
import { allCodecs } from '../algorithms/codecs.js';
import queueTakes from '../algorithms/queue/takes.lua';
import head from '../lua/head.lua';
import main from '../lua/main.lua';
import shared from '../lua/shared.lua';
import { sha1Of } from './sha1.js';

export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Reads the server's clock only once, because in some versions of Redis the clock advances during a call. */
const SERVER_CLOCK = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tick, spare = 1000, 2
`;

/** The test's time, sent as the last argument. Keys expire after ten real minutes. */
const TEST_CLOCK = `
local now = tonumber(table.remove(ARGV))
local tick, spare = math.huge, 600000
`;

export function productionScript(): Script {
  return assemble(SERVER_CLOCK);
}

export function testScript(): Script {
  return assemble(TEST_CLOCK);
}

function assemble(clock: string): Script {
  const texts = [clock, head, bucketTakes, queueTakes, shared, makerOfReaders(), main];
  return scriptOf(texts.join('\n'));
}

/**
 * The Lua function that creates the reader of one algorithm. Each call defines only the algorithms that it uses,
 * because defining all would take as long as a decision.
 */
function makerOfReaders(): string {
  const branches = allCodecs().map(({ letter, debtLetter, lua, maker }) => {
    const letters = debtLetter
      ? `letter == '${letter}' or letter == '${debtLetter}'`
      : `letter == '${letter}'`;
    return `if ${letters} then\n${lua.join('\n')}\nreturn ${maker}(letter)\nend\n`;
  });
  return `local function make(letter)\n${branches.join('')}end\n`;
}

export function scriptOf(text: string): Script {
  return { text, sha: sha1Of(text) };
}
