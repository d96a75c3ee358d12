import { hexOf, utf8Bytes } from '@spillway/core/direct';

const BLOCK = 64;

/** SHA-1 (FIPS 180-4) in hexadecimal, by which Redis identifies a script. Don't use it where collisions matter. */
export function sha1Of(text: string): string {
  const bytes = utf8Bytes(text);
  const { length } = bytes;
  const padded = new Uint8Array(Math.ceil((length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(padded.length - 4, (length * 8) % 2 ** 32);
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  const words = new Int32Array(80);
  for (let from = 0; from < padded.length; from += BLOCK) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(from + 4 * i);
    compress(state, words);
  }
  for (const [i, word] of state.entries()) view.setInt32(4 * i, word);
  return hexOf(padded.subarray(0, 20));
}

function compress(state: Int32Array, words: Int32Array): void {
  const word = (i: number): number => words[i] as number;
  const add = (i: number, own: number): void => {
    state[i] = (state[i] as number) + own;
  };
  // Without destructuring, which would take longer than the rounds.
  let a = state[0] as number;
  let b = state[1] as number;
  let c = state[2] as number;
  let d = state[3] as number;
  let e = state[4] as number;
  for (let i = 0; i < 80; i += 1) {
    if (i >= 16) words[i] = rotated(word(i - 3) ^ word(i - 8) ^ word(i - 14) ^ word(i - 16), 1);
    let mixed = 0;
    if (i < 20) mixed = ((b & c) | (~b & d)) + 0x5a827999;
    else if (i < 40) mixed = (b ^ c ^ d) + 0x6ed9eba1;
    else if (i < 60) mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    else mixed = (b ^ c ^ d) + 0xca62c1d6;
    const next = (rotated(a, 5) + mixed + e + word(i)) | 0;
    e = d;
    d = c;
    c = rotated(b, 30);
    b = a;
    a = next;
  }
  add(0, a);
  add(1, b);
  add(2, c);
  add(3, d);
  add(4, e);
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}
