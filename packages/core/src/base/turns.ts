/** Turns of the event loop, for those who call us in a loop. */

declare function setTimeout(callback: () => void, ms: number): unknown;

/** What is known at once costs some microseconds, so that this many take a few milliseconds. */
const EVERY = 512;

interface Host {
  readonly setImmediate?: (callback: () => void) => unknown;
}

/** The host's own, also where a test has put a clock that stands still in its place since: no loop may stop there. */
const { setImmediate = (callback) => setTimeout(callback, 0) } = globalThis as Host;

/**
 * Lets the event loop turn now and then. A loop that awaits promises which are all settled already never returns to it:
 * no timer fires, and no reply is read. A count and not a clock, which stands still on Workers.
 */
export class Turns {
  private left = EVERY;

  /** A promise of what is known already. @param units how much work it was */
  soon<Value>(value: Value, units = 1): Promise<Value> {
    return this.after(Promise.resolve(value), units);
  }

  /** What may be settled already: settles as `promise` does. */
  after<Value>(promise: Promise<Value>, units = 1): Promise<Value> {
    this.left -= units;
    if (this.left > 0) return promise;
    this.left = EVERY;
    return promise.finally(() => new Promise<void>((resolve) => setImmediate(resolve)));
  }
}
