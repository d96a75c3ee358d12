/// <reference path="../lua.d.ts" />
/** The one script, put together from its Lua parts. */

import { sha1 } from '@noble/hashes/legacy';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import bucket from '../lua/bucket.lua';
import head from '../lua/head.lua';
import leases from '../lua/leases.lua';
import log from '../lua/log.lua';
import logPut from '../lua/log-put.lua';
import main from '../lua/main.lua';
import shared from '../lua/shared.lua';
import takes from '../lua/takes.lua';
import window from '../lua/window.lua';

/** A script's text, and the name by which Redis knows it once it has seen the text. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** The server's own clock, read once: within one call, Redis may or may not let it move. */
const SERVER_CLOCK = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function lifetime(us) return (us - us % 1000) / 1000 + 2 end
`;

/** Virtual time, sent as the last argument; keys live ten real minutes, whatever the virtual clock does. */
const TEST_CLOCK = `
local now = tonumber(ARGV[#ARGV])
local function lifetime() return 600000 end
`;

/** The script for production: Redis alone says what time it is. */
export function productionScript(): Script {
  return assemble(SERVER_CLOCK);
}

/** The script for tests: the same but for its clock. */
export function testScript(): Script {
  return assemble(TEST_CLOCK);
}

function assemble(clock: string): Script {
  return scriptOf(
    [clock, head, takes, shared, bucket, window, logPut, log, leases, main].join('\n'),
  );
}

/** A text with its name. */
export function scriptOf(text: string): Script {
  return { text, sha: bytesToHex(sha1(utf8ToBytes(text))) };
}
