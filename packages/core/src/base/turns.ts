/** Lets the event loop turn when callers await many settled promises in a loop. */

declare function setTimeout(callback: () => void, ms: number): unknown;

/** An answer that needs no I/O costs a few microseconds, so this many take a few milliseconds. */
const EVERY = 512;

interface Host {
  readonly setImmediate?: (callback: () => void) => unknown;
}

/** Captured at import: fake timers that a test installs later must not stop the loop. */
const { setImmediate = (callback) => setTimeout(callback, 0) } = globalThis as Host;

/**
 * Lets the event loop turn now and then. A loop that only awaits settled promises never yields to it, so no timer fires
 * and no reply is read. Counts units of work instead of time, because the clock stands still on Workers.
 */
export class Turns {
  private left = EVERY;

  /**
   * A promise of a value that is already known.
   *
   * @param units how much work it was
   */
  soon<Value>(value: Value, units = 1): Promise<Value> {
    return this.after(Promise.resolve(value), units);
  }

  /** Settles as `promise` does, which may be settled already. */
  after<Value>(promise: Promise<Value>, units = 1): Promise<Value> {
    this.left -= units;
    if (this.left > 0) return promise;
    this.left = EVERY;
    return promise.finally(() => new Promise<void>((resolve) => setImmediate(resolve)));
  }
}
