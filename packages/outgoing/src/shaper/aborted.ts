/** One listener for each signal, however many jobs share it: hosts warn of many. */

/** What is used of an `AbortSignal`. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

interface Listening {
  readonly calls: Set<() => void>;
  readonly listener: () => void;
}

const bySignal = new WeakMap<Signal, Listening>();

/** Calls back when the signal is aborted. */
export function onAborted(signal: Signal, call: () => void): void {
  let listening = bySignal.get(signal);
  if (!listening) {
    const calls = new Set<() => void>();
    const listener = () => {
      for (const one of [...calls]) one();
    };
    listening = { calls, listener };
    bySignal.set(signal, listening);
    signal.addEventListener('abort', listener);
  }
  listening.calls.add(call);
}

/** Does not call back any more. */
export function offAborted(signal: Signal, call: () => void): void {
  const listening = bySignal.get(signal);
  if (!listening?.calls.delete(call) || listening.calls.size > 0) return;
  bySignal.delete(signal);
  signal.removeEventListener('abort', listening.listener);
}
