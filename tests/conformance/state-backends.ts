/** Databases in memory for the tests of the state store: each keeps texts in a map, under a clock that tests set. */

import type { Decide, StateBackend, StateChanges } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';

export class MapBackend implements StateBackend {
  readonly clock: ManualClock;
  readonly testClock: ManualClock;
  readonly rows = new Map<string, { readonly text: string; readonly expiresUs: number }>();
  /** What the last transaction has changed. */
  changes: StateChanges = new Map();

  constructor(clock: ManualClock = new ManualClock()) {
    this.clock = clock;
    this.testClock = clock;
  }

  async transact(names: readonly string[], decide: Decide): Promise<void> {
    this.write(decide(this.read(names), this.clock.nowUs()));
  }

  read(names: readonly string[]): (string | undefined)[] {
    return names.map((name) => this.rows.get(name)?.text);
  }

  write(changes: StateChanges): void {
    this.changes = changes;
    for (const [name, state] of changes) {
      if (state) this.rows.set(name, state);
      else this.rows.delete(name);
    }
  }

  /** Deletes what has expired, as a database does from time to time. */
  clean(): void {
    const nowUs = this.clock.nowUs();
    for (const [name, { expiresUs }] of this.rows) if (expiresUs <= nowUs) this.rows.delete(name);
  }
}

/**
 * Decides twice: first without texts, as in an attempt that fails in the end, then with the texts. Stores only the
 * second decision.
 */
export class RetryingBackend extends MapBackend {
  override async transact(names: readonly string[], decide: Decide): Promise<void> {
    decide(
      names.map(() => undefined),
      this.clock.nowUs() + 1,
    );
    await super.transact(names, decide);
  }
}

/** Takes several turns of the event loop for each transaction, and runs transactions one after another. */
export class SlowBackend extends MapBackend {
  private last: Promise<unknown> = Promise.resolve();

  override transact(names: readonly string[], decide: Decide): Promise<void> {
    const turn = this.last.then(async () => {
      const texts = this.read(names);
      await new Promise((resolve) => setImmediate(resolve));
      const changes = decide(texts, this.clock.nowUs());
      await new Promise((resolve) => setImmediate(resolve));
      this.write(changes);
    });
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
