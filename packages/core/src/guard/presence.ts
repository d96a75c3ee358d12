/** Guards that receive no requests, although others of their store do: they limit nothing. */

import type { Clock } from '../base/clock.js';
import type { Store } from '../contract/store.js';
import type { Notices } from '../observe/notices.js';

/** How old a guard is before it is missed. */
const PATIENCE_US = 600_000_000;

/** How many guards of a store are waited for; it is a configuration that has them, and few. */
const KEPT = 1_000;

/** Those that wait for their first request, the oldest first. */
const waitingFor = new WeakMap<Store, Set<Presence>>();

export class Presence {
  private readonly waiting: Set<Presence>;
  private readonly madeUs: number;
  private readonly clock: Clock;
  /** The names of its limiters. */
  readonly of: string;
  private readonly notices: Notices;

  constructor(
    store: Store,
    clock: Clock,
    limiters: readonly { readonly name: string }[],
    notices: Notices,
  ) {
    this.waiting = waitingFor.get(store) ?? new Set();
    waitingFor.set(store, this.waiting);
    this.clock = clock;
    this.of = limiters.map(({ name }) => name).join(', ');
    this.notices = notices;
    this.madeUs = notices.hears('SPW_GUARD_UNUSED') ? clock.nowUs() : 0;
  }

  /** From now on it is missed if it receives no request. */
  expect(): void {
    if (this.waiting.size < KEPT && this.notices.hears('SPW_GUARD_UNUSED')) this.waiting.add(this);
  }

  /** To be called for each request, and when the guard is closed. */
  seen(): void {
    const { waiting } = this;
    if (waiting.size === 0) return; // nearly always
    waiting.delete(this);
    const before = this.clock.nowUs() - PATIENCE_US;
    const missed: Presence[] = [];
    for (const other of waiting) {
      if (other.madeUs > before) break;
      waiting.delete(other);
      missed.push(other);
    }
    const [first] = missed;
    const guards = missed.map(({ of }) => of).join(', nor that of ');
    first?.notices.tell(
      'SPW_GUARD_UNUSED',
      `in 10 minutes no request reached the guard of ${guards}, but others had some: mount guards before the routes that they limit`,
    );
  }
}
