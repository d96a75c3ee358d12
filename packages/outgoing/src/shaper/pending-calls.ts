/** Counts calls until they settle. */

import { type Eventually, isThenable } from '@spillway/core/direct';

export class PendingCalls {
  private count = 0;
  private whenNone: (() => void) | undefined;
  private readonly settled = (): void => {
    this.count -= 1;
    if (this.count === 0) this.whenNone?.();
  };

  get isAny(): boolean {
    return this.count > 0;
  }

  track<Value>(call: Eventually<Value>): Eventually<Value> {
    if (isThenable(call)) {
      this.count += 1;
      (call as Promise<Value>).then(this.settled, this.settled);
    }
    return call;
  }

  /** Resolves when no call is pending. */
  async whenIdle(): Promise<void> {
    if (!this.isAny) return;
    await new Promise<void>((resolve) => {
      this.whenNone = resolve;
    });
  }
}
