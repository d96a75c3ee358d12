/** Sends groups only while the client is ready. */

import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { tooLate, unavailable } from '../failures.js';
import { after } from '../host.js';
import { failAll, type Group } from './group.js';
import type { ScriptCalls } from './script-calls.js';

/** How often waiting calls are looked at, in case the client does not report a change. */
const LOOK_US = 1_000_000;

export class ReadyQueue {
  private readonly client: RedisClient;
  private readonly scriptCalls: Pick<ScriptCalls, 'send' | 'reconnected'>;
  private wasAway = false;
  /** Calls that wait. They stay as they came, because each has one slot and a limited number of steps. */
  private waiting: readonly (readonly Group[])[] = [];
  private stopWaiting: (() => void) | undefined;
  private stopTimer: (() => void) | undefined;

  constructor(client: RedisClient, scriptCalls: Pick<ScriptCalls, 'send' | 'reconnected'>) {
    this.client = client;
    this.scriptCalls = scriptCalls;
  }

  /**
   * Sends the groups, keeps them until the client is ready, or fails them at once. The client's own queue is never
   * used, because it knows no deadlines.
   */
  pass(groups: readonly Group[]): void {
    const { client } = this;
    const { state } = client;
    if (state === 'ready') {
      const call = inTime(groups);
      if (call.length > 0) this.send(call);
      return;
    }
    this.wasAway = true;
    client.hurry?.();
    if (state === 'connecting') {
      this.waiting = [...this.waiting, groups];
      this.look();
    } else {
      failAll(groups, unavailable(state));
    }
  }

  private send(groups: readonly Group[]): void {
    if (this.wasAway) this.scriptCalls.reconnected();
    this.wasAway = false;
    this.scriptCalls.send(groups);
  }

  /** Looks at the waiting calls: sends them, fails them, or waits again. */
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

/** The groups that somebody still waits for. The others are rejected. */
function inTime(groups: readonly Group[]): readonly Group[] {
  if (groups.every(({ deadlineUs }) => deadlineUs === Infinity)) return groups;
  const nowUs = systemClock.nowUs();
  return groups.filter((group) => {
    if (group.deadlineUs > nowUs) return true;
    group.reject(tooLate());
    return false;
  });
}
