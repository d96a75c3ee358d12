/** Calls that have not ended, for whoever waits until they have. */

import { type Eventually, isThenable } from '@spillway/core/direct';

export class Underway {
  private calls = 0;
  private whenNone: (() => void) | undefined;
  private readonly ended = (): void => {
    this.calls -= 1;
    if (this.calls === 0) this.whenNone?.();
  };

  get isAny(): boolean {
    return this.calls > 0;
  }

  /** Counts a call until it ends, however; returns it. */
  add<Value>(call: Eventually<Value>): Eventually<Value> {
    if (isThenable(call)) {
      this.calls += 1;
      (call as Promise<Value>).then(this.ended, this.ended);
    }
    return call;
  }

  /** Resolves when there are none. */
  async end(): Promise<void> {
    if (!this.isAny) return;
    await new Promise<void>((resolve) => {
      this.whenNone = resolve;
    });
  }
}
