/** Promises that settle without input or output: in a loop over them, nothing else of the process would run. */

import { systemClock } from './clock.js';
import { endsTimersWithRequests, nextTurn } from './host.js';

/** After so many calls it is looked at how long they took; so many cost less than to notice a turn. */
const SOME = 64;

/** After so many calls without a turn of the event loop, or after this time, calls wait for one. */
const MOST = 1_024;
const LONGEST_US = 4_000;

/** Counts calls between two turns of the event loop, and has a loop over many of them wait for the next turn. */
export class Turns {
  private calls = 0;
  /** The number of the call that looks next. */
  private nextLook = SOME;
  private startedUs = 0;
  private turned: Promise<void> | undefined;
  /** No request may wait for a timer of another one. */
  private readonly isApart: boolean = endsTimersWithRequests();

  /**
   * To be asked by each call: what to wait for before it gives its answer, or undefined. Answers stay in the order of
   * the calls, except on Workers.
   */
  due(): Promise<void> | undefined {
    this.calls += 1;
    return this.calls < this.nextLook ? undefined : this.look();
  }

  private look(): Promise<void> | undefined {
    if (this.isApart) return this.calls < MOST ? undefined : this.turn();
    if (this.turned && this.isLate()) return this.turned;
    if (!this.turned) {
      this.startedUs = systemClock.nowUs();
      this.turned = this.turn();
    }
    this.nextLook = this.calls + SOME;
    return undefined;
  }

  private isLate(): boolean {
    return this.calls >= MOST || systemClock.nowUs() - this.startedUs > LONGEST_US;
  }

  private turn(): Promise<void> {
    if (this.isApart) this.calls = 0;
    return new Promise((resolve) => {
      nextTurn(() => {
        this.calls = 0;
        this.nextLook = SOME;
        this.turned = undefined;
        resolve();
      });
    });
  }
}
