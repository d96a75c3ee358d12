/** Timers and the console of the host, without the types of any one host. */

export { after, afterIdly } from '@spillway/core/store';

interface Host {
  setImmediate?(run: () => void): unknown;
  clearTimeout(timer: unknown): void;
  readonly console?: { warn(message: string): void };
}

/**
 * Runs `run` after this turn of the event loop has read its sockets. On hosts without `setImmediate`, at the end of the
 * turn.
 */
export function afterThisTurn(run: () => void): void {
  const { setImmediate } = globalThis as unknown as Host;
  if (setImmediate) setImmediate(run);
  else afterThisTask(run);
}

/** Runs `run` as soon as what runs now, and all that waits for promises that have ended, have returned. */
export function afterThisTask(run: () => void): void {
  void Promise.resolve().then(run);
}

/** Cancels a timer that a client has set. */
export function callOff(timer: unknown): void {
  (globalThis as unknown as Host).clearTimeout(timer);
}

/** The console, where there is one. */
export function consoleLogger(): { warn(message: string): void } {
  return { warn: (message) => (globalThis as unknown as Host).console?.warn(message) };
}
