/// <reference path="../lua.d.ts" />

import { hexOf, hostDigest, utf8Bytes } from '@spillway/core/direct';
import bucketTakes from '../algorithms/bucket/takes.lua';
import { allCodecs } from '../algorithms/codecs.js';
import queueTakes from '../algorithms/queue/takes.lua';
import head from '../lua/head.lua';
import main from '../lua/main.lua';
import shared from '../lua/shared.lua';

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
  return { text, sha: sha1(text) };
}

/** The SHA-1 of a text (FIPS 180-4), also on hosts whose only SHA-1 is asynchronous. */
function sha1(text: string): string {
  const bytes = utf8Bytes(text);
  const host = hostDigest('sha1');
  host?.update(bytes);
  if (host) return hexOf(host.digest());
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  const words = new Int32Array(80);
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  for (let from = 0; from < padded.length; from += 64) addBlock(state, words, view, from);
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function addBlock(state: Int32Array, words: Int32Array, view: DataView, from: number): void {
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(from + 4 * i);
  for (let i = 16; i < 80; i += 1) {
    const near = (words[i - 3] as number) ^ (words[i - 8] as number);
    const mixed = near ^ (words[i - 14] as number) ^ (words[i - 16] as number);
    words[i] = (mixed << 1) | (mixed >>> 31);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0] = state;
  for (let i = 0; i < 80; i += 1) {
    let round = (b ^ c ^ d) + (i < 40 ? 0x6ed9eba1 : 0xca62c1d6);
    if (i < 20) round = ((b & c) | (~b & d)) + 0x5a827999;
    else if (i >= 40 && i < 60) round = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    const next = (((a << 5) | (a >>> 27)) + round + e + (words[i] as number)) | 0;
    e = d;
    d = c;
    c = (b << 30) | (b >>> 2);
    b = a;
    a = next;
  }
  const added = [a, b, c, d, e];
  for (let i = 0; i < 5; i += 1) state[i] = (state[i] as number) + (added[i] as number);
}
