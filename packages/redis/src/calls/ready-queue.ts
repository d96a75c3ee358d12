/** Queues calls until the client is ready. The client's own queue is not used, because it has no deadlines. */

import { disregard } from '@spillway/core/direct';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { tooLate, unavailable, unsent } from '../failures.js';
import { after } from '../host.js';

/** How often waiting calls are checked, in case the client does not report a change. */
const CHECK_US = 1_000_000;

interface Waiting {
  readonly deadlineUs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Stores and controls on one client share its queue, so the client gets few listeners. */
const queues = new WeakMap<RedisClient, ReadyQueue>();

export class ReadyQueue {
  private readonly client: RedisClient;
  private waiting: Waiting[] = [];
  /** When the waiting calls are checked next, unless the client reports a change earlier. Infinity if no call waits. */
  private dueUs = Infinity;
  private stopWaiting: (() => void) | undefined;

  private constructor(client: RedisClient) {
    this.client = client;
  }

  static forClient(client: RedisClient): ReadyQueue {
    const queue = queues.get(client) ?? new ReadyQueue(client);
    queues.set(client, queue);
    return queue;
  }

  /**
   * Resolves as soon as the client is ready.
   *
   * @throws SpillwayError `SPW_STORE_TIMEOUT` if the client is not ready by the deadline; `SPW_STORE_UNAVAILABLE` as
   *   soon as it is neither ready nor connecting; `SPW_STORE_ERROR` if it throws
   */
  wait(deadlineUs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ deadlineUs, resolve, reject });
      this.guarded(() => {
        // `hurry` may connect, so the state is read after it.
        disregard(this.client.hurry?.());
        const isWatched = this.stopWaiting !== undefined && deadlineUs >= this.dueUs;
        if (!isWatched || this.client.state !== 'connecting') this.review();
      });
    });
  }

  private readonly check = (): void => this.guarded(() => this.review());

  /**
   * Runs `work`. If the client throws, the waiting calls fail, because an exception in a timer would end the process.
   */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      const { waiting } = this;
      this.waiting = [];
      for (const call of waiting) call.reject(unsent(error));
    }
  }

  private review(): void {
    const stop = this.stopWaiting;
    this.stopWaiting = undefined;
    stop?.();
    const { state } = this.client;
    const nowUs = systemClock.nowUs();
    const before = this.waiting;
    this.waiting = [];
    this.dueUs = Infinity;
    for (const call of before) {
      if (call.deadlineUs <= nowUs) call.reject(tooLate());
      else if (state === 'ready') call.resolve();
      else if (state === 'connecting') this.addWaiting(call, nowUs);
      else call.reject(unavailable(state));
    }
    if (this.waiting.length === 0) return;
    const stopListening = this.client.onceChanged(this.check);
    const stopTimer = after(Math.ceil((this.dueUs - nowUs) / 1000), this.check);
    this.stopWaiting = () => {
      stopTimer();
      stopListening();
    };
  }

  private addWaiting(call: Waiting, nowUs: number): void {
    this.waiting.push(call);
    this.dueUs = Math.min(this.dueUs, call.deadlineUs, nowUs + CHECK_US);
  }
}
