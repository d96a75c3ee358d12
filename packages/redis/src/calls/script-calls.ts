/** Sends one script call for any number of groups. Each group gets its own answers, or its own error. */

import type { Answer, Clock } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { LATE, readReply } from '../codec/answers.js';
import type { Script } from '../codec/script.js';
import { Encoder } from '../codec/wire.js';
import { failedCall, isUnknownScript, tooLate, unavailable, unsent } from '../failures.js';
import { failAll, type Group } from './group.js';
import { ServerTimes } from './server-time.js';
import type { Silence } from './silence.js';

export class ScriptCalls {
  private readonly client: RedisClient;
  private readonly script: Script;
  private readonly silence: Silence | undefined;
  /** Set in tests: the script then uses this time. */
  private readonly testClock: Clock | undefined;
  private readonly serverTimes = new ServerTimes();
  /** On Cluster: the nodes that are receiving the text of the script now. */
  private readonly learning = new Map<string, Promise<void>>();
  private readonly encoder = new Encoder();

  constructor(
    client: RedisClient,
    script: Script,
    silence: Silence | undefined,
    testClock?: Clock,
  ) {
    this.client = client;
    this.script = script;
    this.silence = silence;
    this.testClock = testClock;
  }

  /** The client has been away. It may be connected to another server now, with another clock. */
  reconnected(): void {
    this.serverTimes.renew();
  }

  /** Sends now. Every result, also an error, ends the promises of the groups: the method never throws. */
  send(groups: readonly Group[], isRetry = false): void {
    const { silence } = this;
    // The groups of one call have the same slot.
    const node = this.client.nodeOf?.(groups[0]?.slot ?? 0) ?? '';
    try {
      this.call(groups, isRetry, node).then(undefined, (error) => {
        silence?.answered(node);
        failAll(groups, failedCall(error));
      });
      const advice = silence?.sent(node);
      if (advice) failAll(groups, advice);
    } catch (error) {
      failAll(groups, unsent(error));
    }
  }

  private call(groups: readonly Group[], isRetry: boolean, node: string): Promise<void> {
    const { client, script } = this;
    let deadlineUs = 0;
    const keys: string[] = [];
    for (const group of groups) {
      for (const key of group.redisKeys) keys.push(key);
      // The latest deadline of all: a group with an earlier one may be charged late, but none is refused too early. A
      // group that only gives back has no deadline.
      if (group.deadlineUs > deadlineUs && !givesBack(group)) deadlineUs = group.deadlineUs;
    }
    const args = [this.testClock ? '0' : `${this.serverTimes.of(node).at(deadlineUs)}`];
    this.encoder.encode(groups, args);
    if (this.testClock) args.push(`${this.testClock.nowUs()}`);

    const deliver = (reply: unknown) => {
      this.silence?.answered(node);
      this.deliver(groups, reply, deadlineUs, isRetry, node);
    };
    return client.evalsha(script.sha, keys, args).then(deliver, (error) => {
      if (!isUnknownScript(error)) throw error;
      // A new server, a new master, or SCRIPT FLUSH. Nothing was run. Only after this error is a call sent again.
      if (client.state !== 'ready') return failAll(groups, unavailable(client.state));
      return this.teach(keys, args, node).then(deliver);
    });
  }

  /** Runs the script on a server that does not know it. A node of a cluster gets the text from one of many calls. */
  private async teach(keys: string[], args: string[], node: string): Promise<unknown> {
    const { client, script, learning } = this;
    const before = learning.get(node);
    if (before) {
      await before;
      try {
        return await client.evalsha(script.sha, keys, args);
      } catch (error) {
        if (!isUnknownScript(error)) throw error;
      }
    }
    const reply = client.eval(script.text, keys, args);
    // Without Cluster, no call waits for another: on some hosts a call ends with the request that made it.
    if (!client.isCluster) return reply;
    const done = reply.then(
      () => undefined,
      () => undefined,
    );
    learning.set(node, done);
    await done;
    if (learning.get(node) === done) learning.delete(node);
    return reply;
  }

  private deliver(
    groups: readonly Group[],
    reply: unknown,
    deadlineUs: number,
    isRetry: boolean,
    node: string,
  ): void {
    const receivedUs = systemClock.nowUs();
    // Throws if the reply is not one of the script's, before anything is learned from it.
    const { nowUs, results } = readReply(reply, groups);
    if (!this.testClock) this.serverTimes.of(node).learn(nowUs, receivedUs);
    const late: Group[] = [];
    for (const [i, group] of groups.entries()) {
      const result = results[i];
      if (result === LATE) late.push(group);
      else if (result instanceof Error) group.reject(result);
      else group.resolve(result as readonly Answer[]);
    }
    if (late.length === 0) return;
    // Late by the server's clock, so nothing was charged. If it is not late by our clock, the server's clock was set;
    // we have just learned its new time, so the group is sent again.
    if (receivedUs < deadlineUs && !isRetry && !late[0]?.isApart) this.send(late, true);
    else failAll(late, tooLate());
  }
}

function givesBack({ steps }: Group): boolean {
  return steps.every(({ op }) => op === 'put');
}
