import { type Eventually, isThenable } from '@spillway/core/direct';

export class PendingCalls {
  private count = 0;
  private readonly whenNone: (() => void)[] = [];
  private readonly settled = (): void => {
    this.count -= 1;
    if (this.count === 0) for (const resolve of this.whenNone.splice(0)) resolve();
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

  async whenIdle(): Promise<void> {
    if (this.isAny) await new Promise<void>((resolve) => this.whenNone.push(resolve));
  }
}
