import type { Answer, Clock, SpillwayError, Step } from '@spillway/core';
import { isEnd, systemClock } from '@spillway/core/store';
import type { Script } from '../codec/script.js';
import { Encoder, LATE, type Result, readReply } from '../codec/wire.js';
import { noReply, tooLate, unsent } from '../failures.js';
import { afterThisTask, afterThisTurn } from '../host.js';
import type { ServerTime } from './server-time.js';
import type { ScriptCall, Transport } from './transport.js';

export interface Group {
  readonly steps: readonly Step[];
  readonly redisKeys: string[];
  /** The hash slot of all keys; 0 unless on Cluster. */
  readonly slot: number;
  /** The deadline by the process's clock; Infinity if there is none. */
  readonly deadlineUs: number;
  readonly isBackground: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

function failAll(groups: readonly Group[], error: Error): void {
  for (const group of groups) group.reject(error);
}

/**
 * Sends the decisions of one turn of the event loop together, because half of the CPU time of a decision in Redis is
 * the overhead of the call. Waiting for the previous reply, as Nagle's algorithm does, would add a round trip.
 */
export class Batches {
  private readonly sender: GroupCalls;
  private readonly maxSteps: number;
  private readonly coalesce: boolean;
  private groups: Group[] = [];

  constructor(sender: GroupCalls, maxSteps: number, coalesce: boolean) {
    this.sender = sender;
    this.maxSteps = maxSteps;
    this.coalesce = coalesce;
  }

  enqueue(group: Group): void {
    if (!this.coalesce) {
      this.sender.pass([group]);
      return;
    }
    this.groups.push(group);
    if (this.groups.length > 1) return;
    // With no call in flight, waiting for the end of the turn would only add latency.
    if (this.sender.isIdle) afterThisTask(this.flush);
    else afterThisTurn(this.flush);
  }

  private readonly flush = (): void => {
    const { groups, sender } = this;
    this.groups = [];
    if (groups.length === 1) {
      sender.pass(groups);
      return;
    }
    const all = bySlot(groups);
    const sendAll = () => {
      for (const some of all) this.sendBatches(some);
    };
    if (all.length === 1) sendAll();
    else sender.together(sendAll);
  };

  private sendBatches(groups: readonly Group[]): void {
    let from = 0;
    let steps = 0;
    for (let at = 0; at < groups.length; at += 1) {
      const more = (groups[at] as Group).steps.length;
      if (at > from && steps + more > this.maxSteps) {
        this.sender.pass(groups.slice(from, at));
        from = at;
        steps = 0;
      }
      steps += more;
    }
    this.sender.pass(from === 0 ? groups : groups.slice(from));
  }
}

/**
 * Splits groups by hash slot, because a script call must not span slots. Background groups (`isBackground`) are also
 * split by deadline, because a call has only one.
 */
function bySlot(groups: readonly Group[]): readonly (readonly Group[])[] {
  const first = groups[0] as Group;
  if (groups.every((group) => canShareCall(group, first))) return [groups];
  const slots = new Map<number | string, Group[]>();
  for (const group of groups) {
    const { slot, isBackground, deadlineUs } = group;
    const place = isBackground ? `${slot} ${deadlineUs}` : slot;
    const others = slots.get(place);
    if (others) others.push(group);
    else slots.set(place, [group]);
  }
  return [...slots.values()];
}

function canShareCall(one: Group, other: Group): boolean {
  if (one.slot !== other.slot || one.isBackground !== other.isBackground) return false;
  return !one.isBackground || one.deadlineUs === other.deadlineUs;
}

export class GroupCalls {
  private readonly transport: Transport;
  private readonly script: Script;
  private readonly again: (group: Group) => void;
  private readonly testClock: Clock | undefined;
  private readonly encoder = new Encoder();
  private inFlight = 0;

  /** @param again called with each group that had to wait, once the client is ready; adds the group to a new batch */
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

  get isIdle(): boolean {
    return this.inFlight === 0;
  }

  /** Sends the groups. If the client is not ready, each group waits for it until its own deadline. Never throws. */
  pass(groups: readonly Group[]): void {
    const { transport, again } = this;
    if (transport.isReady) {
      const call = inTime(groups);
      if (call.length > 0) this.sendGroups(call, false);
      return;
    }
    for (const group of groups) {
      transport.ready(group.deadlineUs).then(() => again(group), group.reject);
    }
  }

  together(send: () => void): void {
    this.transport.together(send);
  }

  private sendGroups(groups: readonly Group[], isRetry: boolean): void {
    const { transport, testClock } = this;
    try {
      const node = transport.nodeOf((groups[0] as Group).slot);
      const clock = transport.clockOf(node);
      if (testClock) clock.learn(testClock.nowUs(), systemClock.nowUs());
      const deadlineUs = lastDeadlineUs(groups);
      const args = [`${clock.at(deadlineUs)}`];
      this.encoder.encode(groups, args, testClock ?? clock);
      if (testClock) args.push(`${testClock.nowUs()}`);
      const call = new GroupCall(this, this.script, groups, args, deadlineUs, isRetry);
      if (!testClock) call.clock = clock;
      this.inFlight += 1;
      transport.sendNow(call, node);
    } catch (error) {
      failAll(groups, unsent(error));
    }
  }

  ended(): void {
    this.inFlight -= 1;
  }

  retry(groups: readonly Group[]): void {
    this.sendGroups(groups, true);
  }
}

class GroupCall implements ScriptCall {
  readonly script: Script;
  readonly keys: string[];
  readonly args: string[];
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

  takeReply(reply: unknown): void {
    this.calls.ended();
    try {
      this.deliver(reply);
    } catch (error) {
      failAll(this.groups, noReply(error)); // `unsent` would let callers send it again, and it may be charged
    }
  }

  failCall(error: SpillwayError): void {
    this.calls.ended();
    failAll(this.groups, error);
  }

  private deliver(reply: unknown): void {
    const { groups, clock } = this;
    const receivedUs = systemClock.nowUs();
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
   * Handles groups that were late by the server's clock, so nothing was charged for them. If the deadline has not
   * passed in this process, the server's clock was changed. Its offset is now known, so the groups are sent once more,
   * except background groups.
   */
  private afterLate(late: readonly Group[], receivedUs: number): void {
    const isInTime = receivedUs < this.deadlineUs;
    if (isInTime && !this.isRetry && !late[0]?.isBackground) this.calls.retry(late);
    else failAll(late, tooLate());
  }
}

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
 * The deadline of a call: the latest one of its groups, so that no group is rejected too early. Groups that consist
 * only of steps like refunds and releases are left out, because they are never late.
 */
function lastDeadlineUs(groups: readonly Group[]): number {
  let lastUs = -Infinity;
  for (const group of groups) {
    if (group.deadlineUs > lastUs && !group.steps.every(isEnd)) lastUs = group.deadlineUs;
  }
  return lastUs === -Infinity ? Infinity : lastUs;
}

function keysOf(groups: readonly Group[]): string[] {
  if (groups.length === 1) return (groups[0] as Group).redisKeys;
  const keys: string[] = [];
  for (const { redisKeys } of groups) for (const key of redisKeys) keys.push(key);
  return keys;
}
