/** Incremental, synchronous SHA-256 (FIPS 180-4). WebCrypto is neither incremental nor synchronous. */

export interface Digest {
  update(bytes: Uint8Array): void;
  /** Returns the 32 bytes. Call it once, at the end. */
  digest(): Uint8Array;
}

interface HostCrypto {
  createHash(algorithm: 'sha256'): { update(bytes: Uint8Array): unknown; digest(): Uint8Array };
}

interface HostProcess {
  getBuiltinModule?(name: 'node:crypto'): HostCrypto | undefined;
}

/** A new digest. Uses the host's faster implementation, if it has one (Node, Bun, Deno). */
export function newDigest(): Digest {
  const { process } = globalThis as { process?: HostProcess };
  const hash = process?.getBuiltinModule?.('node:crypto')?.createHash?.('sha256');
  return hash ? (hash as Digest) : new Sha256();
}

export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const digest = newDigest();
  for (const part of parts) digest.update(part);
  return digest.digest();
}

/** HMAC-SHA-256 (RFC 2104) with one secret. The two padded forms of the secret are computed once. */
export function hmacWith(secret: Uint8Array): (...parts: readonly Uint8Array[]) => Uint8Array {
  const key = secret.length > BLOCK ? sha256(secret) : secret;
  const padded = (pad: number): Uint8Array =>
    Uint8Array.from({ length: BLOCK }, (_, i) => (key[i] ?? 0) ^ pad);
  const [inner, outer] = [padded(0x36), padded(0x5c)];
  return (...parts) => sha256(outer, sha256(inner, ...parts));
}

const HEX = /* @__PURE__ */ Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
);

export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

const BLOCK = 64;
const ROUND_CONSTANTS = /* @__PURE__ */ rootsOfPrimes(64, 3);
const START = /* @__PURE__ */ rootsOfPrimes(8, 2);

/** The first 32 bits of the fractions of the roots. No fraction is so close to such a number that rounding matters. */
function rootsOfPrimes(count: number, root: number): Int32Array {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n += 1) if (primes.every((p) => n % p)) primes.push(n);
  return Int32Array.from(primes, (prime) => (prime ** (1 / root) % 1) * 2 ** 32);
}

class Sha256 implements Digest {
  private readonly state = START.slice();
  private readonly words = new Int32Array(BLOCK);
  private readonly rest = new Uint8Array(BLOCK);
  private length = 0;

  update(bytes: Uint8Array): void {
    const at = this.length % BLOCK;
    this.length += bytes.length;
    let from = 0;
    if (at > 0) {
      from = Math.min(BLOCK - at, bytes.length);
      this.rest.set(bytes.subarray(0, from), at);
      if (at + from < BLOCK) return;
      this.compress(this.rest, 0);
    }
    for (; from + BLOCK <= bytes.length; from += BLOCK) this.compress(bytes, from);
    this.rest.set(bytes.subarray(from));
  }

  digest(): Uint8Array {
    const { length, rest, state } = this;
    const at = length % BLOCK;
    rest[at] = 0x80;
    rest.fill(0, at + 1);
    if (at >= BLOCK - 8) {
      this.compress(rest, 0);
      rest.fill(0);
    }
    const view = new DataView(rest.buffer);
    view.setUint32(BLOCK - 8, Math.floor(length / 2 ** 29));
    view.setUint32(BLOCK - 4, (length * 8) % 2 ** 32);
    this.compress(rest, 0);
    for (let i = 0; i < 8; i += 1) view.setInt32(i * 4, state[i] as number);
    return rest.slice(0, 32);
  }

  private compress(bytes: Uint8Array, from: number): void {
    const { state, words } = this;
    this.expand(bytes, from);
    // Read by index, because destructuring or iterating a typed array costs more than the rounds.
    let a = state[0] as number;
    let b = state[1] as number;
    let c = state[2] as number;
    let d = state[3] as number;
    let e = state[4] as number;
    let f = state[5] as number;
    let g = state[6] as number;
    let h = state[7] as number;
    for (let i = 0; i < 64; i += 1) {
      const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
      const one =
        (h + s1 + (g ^ (e & (f ^ g))) + (ROUND_CONSTANTS[i] as number) + (words[i] as number)) | 0;
      const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
      const two = (s0 + ((a & b) | (c & (a | b)))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    state[0] = (state[0] as number) + a;
    state[1] = (state[1] as number) + b;
    state[2] = (state[2] as number) + c;
    state[3] = (state[3] as number) + d;
    state[4] = (state[4] as number) + e;
    state[5] = (state[5] as number) + f;
    state[6] = (state[6] as number) + g;
    state[7] = (state[7] as number) + h;
  }

  private expand(bytes: Uint8Array, from: number): void {
    const { words } = this;
    for (let i = 0; i < 16; i += 1) {
      const at = from + i * 4;
      const high = ((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16);
      words[i] = high | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
    }
    for (let i = 16; i < 64; i += 1) {
      const near = words[i - 2] as number;
      const far = words[i - 15] as number;
      const s1 = rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10);
      const s0 = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3);
      words[i] = ((words[i - 16] as number) + s0 + (words[i - 7] as number) + s1) | 0;
    }
  }
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
