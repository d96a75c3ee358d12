/// <reference path="../lua.d.ts" />
/** Puts the one script together from its Lua parts. */

import { sha1 } from '@noble/hashes/legacy';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import bucketTakes from '../algorithms/bucket/takes.lua';
import { allCodecs } from '../algorithms/codecs.js';
import queueTakes from '../algorithms/queue/takes.lua';
import head from '../lua/head.lua';
import main from '../lua/main.lua';
import shared from '../lua/shared.lua';

/** A script's text, and the SHA-1 by which Redis knows the script once it has seen the text. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** Reads the server's clock once: Redis may or may not move it within one call. */
const SERVER_CLOCK = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tick, spare = 1000, 2
`;

/** The test's time, sent as the last argument. Keys live ten real minutes, whatever that time is. */
const TEST_CLOCK = `
local now = tonumber(table.remove(ARGV))
local tick, spare = math.huge, 600000
`;

/** The script for production: time is Redis's own. */
export function productionScript(): Script {
  return assemble(SERVER_CLOCK);
}

/** The script for tests: only its clock is different. */
export function testScript(): Script {
  return assemble(TEST_CLOCK);
}

function assemble(clock: string): Script {
  const texts = [clock, head, bucketTakes, queueTakes, shared, makerOfReaders(), main];
  return scriptOf(texts.join('\n'));
}

/**
 * The Lua function that makes the reader of one algorithm. The functions of an algorithm stand inside, because to make
 * those of all algorithms in each call takes as long as a decision.
 */
function makerOfReaders(): string {
  const branches = allCodecs().map(
    ({ letter, lua, maker }) =>
      `if letter == '${letter}' then\n${lua.join('\n')}\nreturn ${maker}()\nend\n`,
  );
  return `local function make(letter)\n${branches.join('')}end\n`;
}

/** A text with its name. */
export function scriptOf(text: string): Script {
  return { text, sha: bytesToHex(sha1(utf8ToBytes(text))) };
}
