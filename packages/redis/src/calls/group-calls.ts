/** Sends one script call for any number of groups. Each group gets its own answers, or its own error. */

import type { Clock } from '@spillway/core';
import { isEnd, systemClock } from '@spillway/core/store';
import { LATE, type Result, readReply } from '../codec/answers.js';
import type { Script } from '../codec/script.js';
import { Encoder } from '../codec/wire.js';
import { tooLate, unsent } from '../failures.js';
import { failAll, type Group } from './group.js';
import type { ServerTime } from './server-time.js';
import type { ScriptCall, Transport } from './transport.js';

export class GroupCalls {
  private readonly transport: Transport;
  private readonly script: Script;
  private readonly again: (group: Group) => void;
  /** Set in tests: the script then uses this time. */
  private readonly testClock: Clock | undefined;
  private readonly encoder = new Encoder();
  private underWay = 0;

  /** @param again takes a group that has waited for the client: it may go with others that have */
  constructor(
    transport: Transport,
    script: Script,
    again: (group: Group) => void,
    testClock?: Clock,
  ) {
    this.transport = transport;
    this.script = script;
    this.again = again;
    this.testClock = testClock;
  }

  /** Whether every call that was sent has ended. */
  get isIdle(): boolean {
    return this.underWay === 0;
  }

  /** Sends groups of one slot, or lets them wait for the client, each until its own deadline. Never throws. */
  pass(groups: readonly Group[]): void {
    const { transport, again } = this;
    if (transport.isReady) {
      const call = inTime(groups);
      if (call.length > 0) this.send(call, false);
      return;
    }
    for (const group of groups) {
      transport.ready(group.deadlineUs).then(() => again(group), group.reject);
    }
  }

  /** Runs `send`, which passes several calls, so that the client can write them together. */
  together(send: () => void): void {
    this.transport.together(send);
  }

  private send(groups: readonly Group[], isRetry: boolean): void {
    const { transport, testClock } = this;
    try {
      // The groups of one call have the same slot.
      const node = transport.nodeOf((groups[0] as Group).slot);
      const clock = transport.clockOf(node);
      if (testClock) clock.learn(testClock.nowUs(), systemClock.nowUs());
      const deadlineUs = lastDeadlineUs(groups);
      const args = [`${clock.at(deadlineUs)}`];
      this.encoder.encode(groups, args, testClock ?? clock);
      if (testClock) args.push(`${testClock.nowUs()}`);
      const call = new GroupCall(this, this.script, groups, args, deadlineUs, isRetry);
      if (!testClock) call.clock = clock;
      this.underWay += 1;
      transport.send(call, node);
    } catch (error) {
      failAll(groups, unsent(error));
    }
  }

  /** A call has ended. */
  ended(): void {
    this.underWay -= 1;
  }

  /** Sends once more groups that came too late by the server's clock, which has been learned meanwhile. */
  retry(groups: readonly Group[]): void {
    this.send(groups, true);
  }
}

/** One call on its way. Every result, also an error, ends the promises of its groups. */
class GroupCall implements ScriptCall {
  readonly script: Script;
  readonly keys: string[];
  readonly args: string[];
  /** Learns the server's time. */
  clock: ServerTime | undefined;
  private readonly calls: GroupCalls;
  private readonly groups: readonly Group[];
  private readonly deadlineUs: number;
  private readonly isRetry: boolean;

  constructor(
    calls: GroupCalls,
    script: Script,
    groups: readonly Group[],
    args: string[],
    deadlineUs: number,
    isRetry: boolean,
  ) {
    this.calls = calls;
    this.script = script;
    this.groups = groups;
    this.keys = keysOf(groups);
    this.args = args;
    this.deadlineUs = deadlineUs;
    this.isRetry = isRetry;
  }

  take(reply: unknown): void {
    this.calls.ended();
    try {
      this.deliver(reply);
    } catch (error) {
      failAll(this.groups, unsent(error));
    }
  }

  fail(error: unknown): void {
    this.calls.ended();
    failAll(this.groups, unsent(error));
  }

  private deliver(reply: unknown): void {
    const { groups, clock } = this;
    const receivedUs = systemClock.nowUs();
    // Throws if the reply is not one of the script's, before anything is learned from it.
    const { nowUs, results } = readReply(reply, groups);
    clock?.learn(nowUs, receivedUs);
    const late: Group[] = [];
    for (let i = 0; i < groups.length; i += 1) {
      const group = groups[i] as Group;
      const result = results[i] as Result;
      if (result === LATE) late.push(group);
      else if (result instanceof Error) group.reject(result);
      else group.resolve(result);
    }
    if (late.length > 0) this.afterLate(late, receivedUs);
  }

  /**
   * Late by the server's clock, so nothing was charged. If it is not late by our clock, the server's clock was set; we
   * have just learned its new time, so the groups are sent again.
   */
  private afterLate(late: readonly Group[], receivedUs: number): void {
    const isInTime = receivedUs < this.deadlineUs;
    if (isInTime && !this.isRetry && !late[0]?.isApart) this.calls.retry(late);
    else failAll(late, tooLate());
  }
}

/** The groups that somebody still waits for. The others are rejected. */
function inTime(groups: readonly Group[]): readonly Group[] {
  if (groups.every(hasNoDeadline)) return groups;
  const nowUs = systemClock.nowUs();
  return groups.filter((group) => {
    if (group.deadlineUs > nowUs) return true;
    group.reject(tooLate());
    return false;
  });
}

function hasNoDeadline({ deadlineUs }: Group): boolean {
  return deadlineUs === Infinity;
}

/**
 * The deadline of a call: the latest of its groups. A group with an earlier one may be charged late, but none is
 * refused too early. A group that only ends something has no deadline; a call of only such has none: Infinity.
 */
function lastDeadlineUs(groups: readonly Group[]): number {
  let lastUs = -Infinity;
  for (const group of groups) {
    if (group.deadlineUs > lastUs && !isWelcomeLate(group)) lastUs = group.deadlineUs;
  }
  return lastUs === -Infinity ? Infinity : lastUs;
}

function isWelcomeLate({ steps }: Group): boolean {
  return steps.every(isEnd);
}

function keysOf(groups: readonly Group[]): string[] {
  if (groups.length === 1) return (groups[0] as Group).redisKeys;
  const keys: string[] = [];
  for (const { redisKeys } of groups) for (const key of redisKeys) keys.push(key);
  return keys;
}
