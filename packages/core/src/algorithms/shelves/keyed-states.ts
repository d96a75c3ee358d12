import { detached, type Fingerprint, randomSeed, shortened } from '../../base/fingerprint.js';
import { ByCount } from './by-count.js';

export interface Expiring {
  expiresUs: number;
}

/** A longer key is stored as its fingerprint, so long keys can't fill the memory. */
const LONGEST_KEY = 128;
const SWEEP = 64;

export class KeyedStates<State extends Expiring> {
  private readonly counts = new ByCount<Map<string, State>>(
    () => new Map(),
    (states) => states.size === 0,
  );
  private seed: Fingerprint | undefined;
  private sweeper: Iterator<[Map<string, State>, string, State]> | undefined;
  private held = 0;

  get size(): number {
    return this.held;
  }

  get(limiter: string, code: string, key: string): State | undefined {
    return this.counts.find(limiter, code)?.get(this.short(key));
  }

  set(limiter: string, code: string, key: string, state: State): void {
    const states = this.counts.findOrMake(limiter, code);
    const short = this.short(key);
    if (!states.has(short)) this.held += 1;
    states.set(detached(short), state);
  }

  delete(limiter: string, code: string, key: string): void {
    if (this.counts.find(limiter, code)?.delete(this.short(key))) this.held -= 1;
  }

  reclaim(nowUs: number, dropped: (state: State) => void): void {
    for (let count = 0; count < SWEEP; count += 1) {
      this.sweeper ??= this.walk();
      const next = this.sweeper.next();
      if (next.done) {
        this.sweeper = undefined;
        return;
      }
      const [states, key, state] = next.value;
      if (state.expiresUs > nowUs) continue;
      states.delete(key);
      this.held -= 1;
      dropped(state);
    }
  }

  private *walk(): Generator<[Map<string, State>, string, State]> {
    for (const states of this.counts) {
      for (const [key, state] of states) yield [states, key, state];
    }
  }

  private short(key: string): string {
    if (key.length <= LONGEST_KEY) return key;
    this.seed ??= randomSeed();
    return shortened(key, this.seed);
  }
}
