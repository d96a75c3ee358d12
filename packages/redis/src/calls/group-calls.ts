/** Sends one script call for any number of groups. Each group gets its own answers, or its own error. */

import type { Answer, Clock } from '@spillway/core';
import { isEnd, systemClock } from '@spillway/core/store';
import { LATE, readReply } from '../codec/answers.js';
import type { Script } from '../codec/script.js';
import { Encoder } from '../codec/wire.js';
import { tooLate, unsent } from '../failures.js';
import { failAll, type Group } from './group.js';
import type { ServerTime } from './server-time.js';
import type { Transport } from './transport.js';

export class GroupCalls {
  private readonly transport: Transport;
  private readonly script: Script;
  private readonly again: (group: Group) => void;
  /** Set in tests: the script then uses this time. */
  private readonly testClock: Clock | undefined;
  private readonly encoder = new Encoder();

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

  /** Sends groups of one slot, or lets them wait for the client, each until its own deadline. Never throws. */
  pass(groups: readonly Group[]): void {
    const { transport, again } = this;
    if (transport.isReady) {
      const call = inTime(groups);
      if (call.length > 0) void this.send(call);
      return;
    }
    for (const group of groups) {
      transport.ready(group.deadlineUs).then(() => again(group), group.reject);
    }
  }

  /** Every result, also an error, ends the promises of the groups. */
  private async send(groups: readonly Group[], isRetry = false): Promise<void> {
    const { transport, testClock } = this;
    const deadlineUs = lastDeadlineUs(groups);
    try {
      // The groups of one call have the same slot.
      const slot = groups[0]?.slot ?? 0;
      const clock = transport.clockOf(slot);
      if (testClock) clock.learn(testClock.nowUs(), systemClock.nowUs());
      const args = [`${clock.at(deadlineUs)}`];
      this.encoder.encode(groups, args);
      if (testClock) args.push(`${testClock.nowUs()}`);
      const call = { script: this.script, keys: keysOf(groups), args };
      const late = this.deliver(groups, await transport.send(call, slot), clock);
      if (late.length === 0) return;
      // Late by the server's clock, so nothing was charged. If it is not late by our clock, the server's clock was set;
      // we have just learned its new time, so the group is sent again.
      const isInTime = systemClock.nowUs() < deadlineUs;
      if (isInTime && !isRetry && !late[0]?.isApart) void this.send(late, true);
      else failAll(late, tooLate());
    } catch (error) {
      failAll(groups, unsent(error));
    }
  }

  /** Ends the promises of the groups that were decided, and returns the others: they came too late. */
  private deliver(groups: readonly Group[], reply: unknown, clock: ServerTime): readonly Group[] {
    const receivedUs = systemClock.nowUs();
    // Throws if the reply is not one of the script's, before anything is learned from it.
    const { nowUs, results } = readReply(reply, groups);
    if (!this.testClock) clock.learn(nowUs, receivedUs);
    const late: Group[] = [];
    for (const [i, group] of groups.entries()) {
      const result = results[i];
      if (result === LATE) late.push(group);
      else if (result instanceof Error) group.reject(result);
      else group.resolve(result as readonly Answer[]);
    }
    return late;
  }
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
  const keys: string[] = [];
  for (const { redisKeys } of groups) for (const key of redisKeys) keys.push(key);
  return keys;
}
