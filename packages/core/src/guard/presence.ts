/** Warns about guards that receive no requests although other guards of their store do. */

import type { Clock } from '../base/clock.js';
import { getOrMake } from '../base/get-or-make.js';
import type { Store } from '../contract/store.js';
import type { Notices } from '../observe/notices.js';

const PATIENCE_US = 600_000_000;

const MAX_WATCHED = 1_000;

/** The guards that wait for their first request, oldest first. */
const waitingFor = new WeakMap<Store, Set<Presence>>();

export class Presence {
  private readonly waiting: Set<Presence>;
  /** 0 in the global scope of a Worker, where the clock stands still; then a request of another guard sets it. */
  private madeUs: number;
  private readonly clock: Clock;
  readonly of: string;
  private readonly notices: Notices;

  constructor(
    store: Store,
    clock: Clock,
    limiters: readonly { readonly name: string }[],
    notices: Notices,
  ) {
    this.waiting = getOrMake(waitingFor, store, () => new Set());
    this.clock = clock;
    this.of = limiters.map(({ name }) => name).join(', ');
    this.notices = notices;
    this.madeUs = notices.reports('SPW_GUARD_UNUSED') ? clock.nowUs() : 0;
  }

  expect(): void {
    if (this.waiting.size < MAX_WATCHED && this.notices.reports('SPW_GUARD_UNUSED'))
      this.waiting.add(this);
  }

  /** Call it for each request and at `close`. Warns about other guards that have waited too long. */
  seen(): void {
    const { waiting } = this;
    if (waiting.size === 0) return;
    waiting.delete(this);
    const nowUs = this.clock.nowUs();
    const missed: Presence[] = [];
    for (const other of waiting) {
      other.madeUs ||= nowUs;
      if (nowUs - other.madeUs < PATIENCE_US) break;
      waiting.delete(other);
      missed.push(other);
    }
    const [first] = missed;
    const guards = missed.map(({ of }) => of).join(', or the guard of ');
    first?.notices.tell(
      'SPW_GUARD_UNUSED',
      `no request reached the guard of ${guards} in 10 minutes, but other guards received some: mount guards before the routes that they limit`,
      guards,
    );
  }
}
