/** The little of the host that is used, timers and the console, without asking for the types of any one host. */

interface Host {
  setImmediate?(run: () => void): unknown;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  readonly console?: { warn(message: string): void };
}

/**
 * Runs `run` once this turn of the event loop has read what its sockets held; where there is no such thing, at its end.
 */
export function afterThisTurn(run: () => void): void {
  const { setImmediate } = globalThis as unknown as Host;
  if (setImmediate) setImmediate(run);
  else void Promise.resolve().then(run);
}

/** Runs `run` after `ms`; returns what calls it off. */
export function after(ms: number, run: () => void): () => void {
  const host = globalThis as unknown as Host;
  const timer = host.setTimeout(run, ms);
  return () => host.clearTimeout(timer);
}

/** {@link after}, but nothing stays alive for it, where the host can tell. */
export function afterIdly(ms: number, run: () => void): () => void {
  const host = globalThis as unknown as Host;
  const timer = host.setTimeout(run, ms);
  (timer as { unref?: () => void }).unref?.();
  return () => host.clearTimeout(timer);
}

/** Calls off what a client would do later by a timer of its own. */
export function callOff(timer: unknown): void {
  (globalThis as unknown as Host).clearTimeout(timer);
}

/** The console, where there is one. */
export function consoleLogger(): { warn(message: string): void } {
  return { warn: (message) => (globalThis as unknown as Host).console?.warn(message) };
}
