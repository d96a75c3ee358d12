/** Lets questions through to a client only while it is ready. */

import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { tooLate, unavailable } from '../failures.js';
import { after } from '../host.js';
import { failAll, type Group } from './group.js';
import type { ScriptCalls } from './script-calls.js';

/** What waits is looked at again by then, should the client not tell. */
const LOOK_US = 1_000_000;

export class ReadyQueue {
  private readonly client: RedisClient;
  private readonly caller: Pick<ScriptCalls, 'send' | 'reconnected'>;
  private wasAway = false;
  /** In the calls that they came for: each keeps to one slot, and to so many steps. */
  private waiting: readonly (readonly Group[])[] = [];
  private stopWaiting: (() => void) | undefined;
  private stopTimer: (() => void) | undefined;

  constructor(client: RedisClient, caller: Pick<ScriptCalls, 'send' | 'reconnected'>) {
    this.client = client;
    this.caller = caller;
  }

  /**
   * Sends, keeps until the client is ready, or fails at once. A client's own queue is never used: it knows no
   * deadlines.
   */
  pass(questions: readonly Group[]): void {
    const { client } = this;
    const { state } = client;
    if (state === 'ready') {
      const call = inTime(questions);
      if (call.length > 0) this.send(call);
      return;
    }
    this.wasAway = true;
    client.hurry?.();
    if (state === 'connecting') {
      this.waiting = [...this.waiting, questions];
      this.look();
    } else {
      failAll(questions, unavailable(state));
    }
  }

  private send(questions: readonly Group[]): void {
    if (this.wasAway) this.caller.reconnected();
    this.wasAway = false;
    this.caller.send(questions);
  }

  /** Something has changed: sends or fails what waits, or goes on waiting. */
  private readonly look = (): void => {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.stopWaiting?.();
    this.stopWaiting = undefined;
    const calls = this.waiting.map(inTime).filter((call) => call.length > 0);
    this.waiting = [];
    if (calls.length === 0) return;

    const { state } = this.client;
    if (state === 'ready') {
      for (const call of calls) this.send(call);
    } else if (state === 'connecting') {
      this.waiting = calls;
      this.stopWaiting = this.client.onceChanged(this.look);
      const waitUs = Math.min(firstDeadlineUs(calls) - systemClock.nowUs(), LOOK_US);
      this.stopTimer = after(Math.ceil(waitUs / 1000), this.look);
    } else {
      for (const call of calls) failAll(call, unavailable(state));
    }
  };
}

function firstDeadlineUs(calls: readonly (readonly Group[])[]): number {
  let firstUs = Infinity;
  for (const call of calls) {
    for (const { deadlineUs } of call) firstUs = Math.min(firstUs, deadlineUs);
  }
  return firstUs;
}

/** The questions that somebody still waits for; the others are ended. */
function inTime(questions: readonly Group[]): readonly Group[] {
  if (questions.every(({ deadlineUs }) => deadlineUs === Infinity)) return questions;
  const nowUs = systemClock.nowUs();
  return questions.filter((question) => {
    if (question.deadlineUs > nowUs) return true;
    question.reject(tooLate());
    return false;
  });
}
