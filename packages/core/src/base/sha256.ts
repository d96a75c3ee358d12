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

const BLOCK = 64;

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
// biome-ignore format: a table
const K = /* @__PURE__ */ new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);

class Sha256 implements Digest {
  // The first 32 bits of the fractions of the square roots of the first eight primes.
  // biome-ignore format: a table
  private readonly state = new Int32Array([
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  ]);
  private readonly words = new Int32Array(64);
  private readonly rest = new Uint8Array(BLOCK);
  private restLength = 0;
  private length = 0;

  update(bytes: Uint8Array): void {
    this.length += bytes.length;
    let from = 0;
    if (this.restLength > 0) {
      from = Math.min(BLOCK - this.restLength, bytes.length);
      this.rest.set(bytes.subarray(0, from), this.restLength);
      this.restLength += from;
      if (this.restLength < BLOCK) return;
      this.compress(this.rest, 0);
    }
    for (; from + BLOCK <= bytes.length; from += BLOCK) this.compress(bytes, from);
    this.rest.set(bytes.subarray(from));
    this.restLength = bytes.length - from;
  }

  digest(): Uint8Array {
    const { length } = this;
    const padded = new Uint8Array(this.restLength < 56 ? BLOCK : 2 * BLOCK);
    padded.set(this.rest.subarray(0, this.restLength));
    padded[this.restLength] = 0x80;
    const view = new DataView(padded.buffer);
    view.setUint32(padded.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(padded.length - 4, (length * 8) % 2 ** 32);
    for (let from = 0; from < padded.length; from += BLOCK) this.compress(padded, from);
    const result = new Uint8Array(32);
    const out = new DataView(result.buffer);
    for (const [i, word] of this.state.entries()) out.setInt32(i * 4, word);
    return result;
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
      const one = (h + s1 + (g ^ (e & (f ^ g))) + (K[i] as number) + (words[i] as number)) | 0;
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
