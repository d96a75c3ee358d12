/// <reference path="../lua.d.ts" />
/** Puts the one script together from its Lua parts. */

import { sha1 } from '@noble/hashes/legacy';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import takes from '../algorithms/bucket/takes.lua';
import { allCodecs } from '../algorithms/codecs.js';
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
local function lifetime(us) return (us - us % 1000) / 1000 + 2 end
`;

/** The test's time, sent as the last argument. Keys live ten real minutes, whatever that time is. */
const TEST_CLOCK = `
local now = tonumber(ARGV[#ARGV])
local function lifetime() return 600000 end
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
  const codecs = allCodecs();
  const algorithms = codecs.flatMap(({ lua }) => lua);
  const makers = codecs.map(({ letter, maker }) => `${letter} = ${maker}`);
  const table = `local makers = { ${makers.join(', ')} }\n`;
  return scriptOf([clock, head, takes, shared, ...algorithms, table, main].join('\n'));
}

/** A text with its name. */
export function scriptOf(text: string): Script {
  return { text, sha: bytesToHex(sha1(utf8ToBytes(text))) };
}
