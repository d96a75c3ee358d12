/** An exchange as a limiter sees it that keeps answers. */

import type { KeptExchange } from '../contract/limiter.js';
import type { Recorder, Recorders } from '../contract/recorder.js';
import { admissionsOf } from './admissions.js';
import type { Exchange } from './exchange.js';

/** Made for each request of a guard with such a limiter; the recorder only for those that need it. */
export class SeenExchange implements KeptExchange {
  readonly holder: object;
  private readonly exchange: Exchange;
  private readonly recorders: Recorders;
  private made: Recorder | undefined;

  constructor(exchange: Exchange, holder: object, recorders: Recorders) {
    this.exchange = exchange;
    this.recorders = recorders;
    this.holder = holder;
    this.made = undefined;
  }

  get recorder(): Recorder {
    this.made ??= this.exchange.recorder?.(this.recorders) as Recorder;
    return this.made;
  }

  isGone(): boolean {
    return this.exchange.isGone();
  }

  isAnswered(): boolean {
    return admissionsOf(this.holder).some(({ allowed }) => !allowed);
  }
}
