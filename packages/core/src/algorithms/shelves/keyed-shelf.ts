import { detached, type Fingerprint, randomSeed, shortened } from '../../base/fingerprint.js';
import type { Ask } from '../../contract/ask.js';
import type { Answer, Rule, Shelf, ShelfStep } from '../../contract/rule.js';
import { ByCount } from './by-count.js';

export interface Expiring {
  expiresUs: number;
}

/** A longer key is stored as its fingerprint, so long keys can't fill the memory. */
const LONGEST_KEY = 128;
const SWEEP = 64;

/** A shelf that stores each count as an object. */
export abstract class KeyedShelf<Own extends Rule, State extends Expiring>
  implements Shelf<Own, State>
{
  readonly grows: boolean = false;
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

  find(ask: Ask<Own>, _nowUs: number): State | undefined {
    return this.counts.find(ask.limiter, ask.rule.code)?.get(this.nameOf(ask));
  }

  abstract step(step: ShelfStep<Own, State>): Answer;
  abstract expiresAtUs(rule: Own, answer: Answer): number;

  reclaim(nowUs: number): void {
    for (let count = 0; count < SWEEP; count += 1) {
      this.sweeper ??= this.walk();
      const next = this.sweeper.next();
      if (next.done) {
        this.sweeper = undefined;
        return;
      }
      const [states, name, state] = next.value;
      if (state.expiresUs > nowUs) continue;
      states.delete(name);
      this.held -= 1;
      this.evicted(state);
    }
  }

  protected set(ask: Ask<Own>, state: State): void {
    const states = this.counts.findOrMake(ask.limiter, ask.rule.code);
    const name = this.nameOf(ask);
    if (!states.has(name)) this.held += 1;
    states.set(detached(name), state);
  }

  protected delete(ask: Ask<Own>): void {
    if (this.counts.find(ask.limiter, ask.rule.code)?.delete(this.nameOf(ask))) this.held -= 1;
  }

  protected evicted(_state: State): void {}

  protected nameOf({ key }: Ask<Own>): string {
    if (key.length <= LONGEST_KEY) return key;
    this.seed ??= randomSeed();
    return shortened(key, this.seed);
  }

  private *walk(): Generator<[Map<string, State>, string, State]> {
    for (const states of this.counts) {
      for (const [name, state] of states) yield [states, name, state];
    }
  }
}
