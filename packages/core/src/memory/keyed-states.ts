/** States kept by limiter and key in plain maps: windows and logs. */

import { detached, type Fingerprint, randomSeed, shortened } from './fingerprint.js';

/** The least that a kept state tells: when it will equal no state at all. */
export interface Expiring {
  expiresUs: number;
}

/** Keys longer than this are kept as their fingerprint: a flood of long keys cannot fill the memory. */
const LONGEST_KEY = 128;
/** How many states a call looks at when room is short. */
const SWEEP = 64;

export class KeyedStates<State extends Expiring> {
  readonly #limiters = new Map<string, Map<string, State>>();
  #seed: Fingerprint | undefined;
  #sweeper: Iterator<[Map<string, State>, string, State]> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(limiter: string, key: string): State | undefined {
    return this.#limiters.get(limiter)?.get(this.#short(key));
  }

  set(limiter: string, key: string, state: State): void {
    let states = this.#limiters.get(limiter);
    if (!states) {
      states = new Map();
      this.#limiters.set(limiter, states);
    }
    const short = this.#short(key);
    if (!states.has(short)) this.#size += 1;
    states.set(detached(short), state);
  }

  delete(limiter: string, key: string): void {
    if (this.#limiters.get(limiter)?.delete(this.#short(key))) this.#size -= 1;
  }

  /** Drops expired states among the next few, and tells each to `dropped`. */
  reclaim(nowUs: number, dropped: (state: State) => void): void {
    for (let count = 0; count < SWEEP; count += 1) {
      this.#sweeper ??= this.#walk();
      const next = this.#sweeper.next();
      if (next.done) {
        this.#sweeper = undefined;
        return;
      }
      const [states, key, state] = next.value;
      if (state.expiresUs > nowUs) continue;
      states.delete(key);
      this.#size -= 1;
      dropped(state);
    }
  }

  *#walk(): Generator<[Map<string, State>, string, State]> {
    for (const states of this.#limiters.values()) {
      for (const [key, state] of states) yield [states, key, state];
    }
  }

  #short(key: string): string {
    if (key.length <= LONGEST_KEY) return key;
    this.#seed ??= randomSeed();
    return shortened(key, this.#seed);
  }
}
