/** Jobs hear that their signal is aborted. Hosts warn of more than ten listeners, so all jobs of a signal share one. */

/** What is used of an `AbortSignal`. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

class Listeners {
  private readonly signal: Signal;
  private readonly all = new Set<() => void>();

  constructor(signal: Signal) {
    this.signal = signal;
  }

  add(listener: () => void): void {
    if (this.all.size === 0) this.signal.addEventListener('abort', this.tell);
    this.all.add(listener);
  }

  remove(listener: () => void): void {
    if (this.all.delete(listener) && this.all.size === 0) {
      this.signal.removeEventListener('abort', this.tell);
    }
  }

  private readonly tell = (): void => {
    for (const listener of this.all) listener();
  };
}

/** Beside the signals, not in them: they are the user's. */
const known = new WeakMap<Signal, Listeners>();

/** Calls back when the signal is aborted, until {@link ignoreAbort}. */
export function hearAbort(signal: Signal, listener: () => void): void {
  let listeners = known.get(signal);
  if (!listeners) {
    listeners = new Listeners(signal);
    known.set(signal, listeners);
  }
  listeners.add(listener);
}

export function ignoreAbort(signal: Signal, listener: () => void): void {
  known.get(signal)?.remove(listener);
}
