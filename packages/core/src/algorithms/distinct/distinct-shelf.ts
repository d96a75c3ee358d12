import type { Ask, LogAnswer } from '../../contract/ask.js';
import type { DistinctRule } from '../../contract/rule.js';
import type { Shelf, ShelfStep } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { noItems, stepDistinct, WIDTH } from './distinct-step.js';

interface StoredItems extends Expiring {
  items: string;
}

export class DistinctShelf implements Shelf<DistinctRule, StoredItems> {
  readonly grows = true;
  private readonly states = new KeyedStates<StoredItems>();
  private characters = 0;
  private readonly working = noItems();

  get size(): number {
    return this.characters / WIDTH;
  }

  find({ limiter, rule, key }: Ask<DistinctRule>): StoredItems | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  step(step: ShelfStep<DistinctRule, StoredItems>): LogAnswer {
    const { ask, nowUs, charge, mayGrow, count, other } = step;
    const { working: state } = this;
    state.items = (count ?? other)?.items ?? '';
    // A shared count may grow too. With room for only one item, it would reject nearly all its keys.
    const grows = mayGrow || 'other' in step;
    const allowed = stepDistinct(ask, state, nowUs, charge, grows);
    const { used, freesUs, lastUs } = state;
    if (state.dirty) this.keep(ask, count, state.items, lastUs + ask.rule.windowUs);
    return { allowed, nowUs, used, freesUs, lastUs };
  }

  expiresAtUs({ windowUs }: DistinctRule, { lastUs }: LogAnswer): number {
    return lastUs + windowUs;
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, ({ items }) => {
      this.characters -= items.length;
    });
  }

  private keep(
    { limiter, rule, key }: Ask<DistinctRule>,
    stored: StoredItems | undefined,
    items: string,
    expiresUs: number,
  ): void {
    this.characters += items.length - (stored?.items.length ?? 0);
    if (items === '') this.states.delete(limiter, rule.code, key);
    else if (stored) {
      stored.items = items;
      stored.expiresUs = expiresUs;
    } else {
      this.states.set(limiter, rule.code, key, { items, expiresUs });
    }
  }
}
