/** One script call for any number of groups: each is settled with its own answers or error. */

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
  /** Set in tests: tells Redis the time. */
  private readonly testClock: Clock | undefined;
  private readonly serverTimes = new ServerTimes();
  /** Of a cluster: nodes that are being sent the text of the script. */
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

  /** The client has been away: it may speak to another server now, with another clock. */
  reconnected(): void {
    this.serverTimes.renew();
  }

  /** Sends now. Whatever happens ends in the questions: never throws, leaves no promise behind. */
  send(questions: readonly Group[], isRetry = false): void {
    const { silence } = this;
    // The questions of one call are in one slot.
    const node = this.client.nodeOf?.(questions[0]?.slot ?? 0) ?? '';
    try {
      this.call(questions, isRetry, node).then(undefined, (error) => {
        silence?.heard(node);
        failAll(questions, failedCall(error));
      });
      const advice = silence?.asked(node);
      if (advice) failAll(questions, advice);
    } catch (error) {
      failAll(questions, unsent(error));
    }
  }

  private call(questions: readonly Group[], isRetry: boolean, node: string): Promise<void> {
    const { client, script } = this;
    let deadlineUs = 0;
    const keys: string[] = [];
    for (const question of questions) {
      for (const name of question.names) keys.push(name);
      // The last of them all: a group whose own is sooner may be charged late, none is refused too soon. What only
      // gives back is never late.
      if (question.deadlineUs > deadlineUs && !givesBack(question))
        deadlineUs = question.deadlineUs;
    }
    const args = [this.testClock ? '0' : `${this.serverTimes.of(node).at(deadlineUs)}`];
    this.encoder.encode(questions, args);
    if (this.testClock) args.push(`${this.testClock.nowUs()}`);

    const settle = (reply: unknown) => {
      this.silence?.heard(node);
      this.settle(questions, reply, deadlineUs, isRetry, node);
    };
    return client.evalsha(script.sha, keys, args).then(settle, (error) => {
      if (!isUnknownScript(error)) throw error;
      // A new server, a new master, SCRIPT FLUSH. Nothing was run: the only error after which a call is repeated.
      if (client.state !== 'ready') return failAll(questions, unavailable(client.state));
      return this.teach(keys, args, node).then(settle);
    });
  }

  /** Runs the script on a server that does not know it: a node of a cluster is sent the text by one of many calls. */
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
    // Elsewhere no call may wait for another: on some hosts it ends with the request that made it.
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

  private settle(
    questions: readonly Group[],
    reply: unknown,
    deadlineUs: number,
    isRetry: boolean,
    node: string,
  ): void {
    const receivedUs = systemClock.nowUs();
    // Throws before anything is learned from what is no reply.
    const { nowUs, results } = readReply(reply, questions);
    if (!this.testClock) this.serverTimes.of(node).learn(nowUs, receivedUs);
    const late: Group[] = [];
    for (const [i, question] of questions.entries()) {
      const result = results[i];
      if (result === LATE) late.push(question);
      else if (result instanceof Error) question.reject(result);
      else question.resolve(result as readonly Answer[]);
    }
    if (late.length === 0) return;
    // Late by the server's clock, so nothing was charged. If not by ours, the server's was set: it is known again now.
    if (receivedUs < deadlineUs && !isRetry && !late[0]?.isApart) this.send(late, true);
    else failAll(late, tooLate());
  }
}

function givesBack({ steps }: Group): boolean {
  return steps.every(({ op }) => op === 'put');
}
