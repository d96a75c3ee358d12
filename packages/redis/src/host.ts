export { after, afterIdly } from '@spillway/core/store';

interface Host {
  setImmediate?(run: () => void): unknown;
  readonly console?: { warn(message: string): void };
}

/** Runs `run` after this event loop turn has read its sockets. Without `setImmediate`, runs it as a microtask. */
export function afterThisTurn(run: () => void): void {
  const { setImmediate } = globalThis as unknown as Host;
  if (setImmediate) setImmediate(run);
  else afterThisTask(run);
}

export function afterThisTask(run: () => void): void {
  void Promise.resolve().then(run);
}

export function consoleLogger(): { warn(message: string): void } {
  return { warn: (message) => (globalThis as unknown as Host).console?.warn(message) };
}
