/** One script call for any number of groups: each is settled with its own answers or error. */

import { type Answer, type Clock, systemClock } from '@spillway/core';
import { LATE, readReply } from './answers.js';
import type { RedisClient } from './client.js';
import { failedCall, isUnknownScript, tooLate, unavailable, unsent } from './failures.js';
import { failAll, type Question } from './question.js';
import type { Script } from './script.js';
import { ServerTime } from './server-time.js';
import type { Silence } from './silence.js';
import { Encoder } from './wire.js';

export class Caller {
  private readonly client: RedisClient;
  private readonly script: Script;
  private readonly silence: Silence | undefined;
  /** Set in tests: tells Redis the time. */
  private readonly testClock: Clock | undefined;
  private readonly serverTime = new ServerTime();
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
    this.serverTime.renew();
  }

  /** Sends now. Whatever happens ends in the questions: never throws, leaves no promise behind. */
  send(questions: readonly Question[], isRetry = false): void {
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

  private call(questions: readonly Question[], isRetry: boolean, node: string): Promise<void> {
    const { client, script } = this;
    let deadlineUs = 0;
    const keys: string[] = [];
    for (const question of questions) {
      for (const name of question.names) keys.push(name);
      // The last of them all: a group whose own is sooner may be charged late, none is refused too soon. What only gives back is never late.
      if (question.deadlineUs > deadlineUs && !givesBack(question))
        deadlineUs = question.deadlineUs;
    }
    const args = [this.testClock ? '0' : `${this.serverTime.at(deadlineUs)}`];
    this.encoder.encode(questions, args);
    if (this.testClock) args.push(`${this.testClock.nowUs()}`);

    const settle = (reply: unknown) => {
      this.silence?.heard(node);
      this.settle(questions, reply, deadlineUs, isRetry);
    };
    return client.evalsha(script.sha, keys, args).then(settle, (error) => {
      if (!isUnknownScript(error)) throw error;
      // A new server, a new master, SCRIPT FLUSH. Nothing was run: the only error after which a call is repeated.
      if (client.state !== 'ready') return failAll(questions, unavailable(client.state));
      return client.eval(script.text, keys, args).then(settle);
    });
  }

  private settle(
    questions: readonly Question[],
    reply: unknown,
    deadlineUs: number,
    isRetry: boolean,
  ): void {
    const receivedUs = systemClock.nowUs();
    // Throws before anything is learned from what is no reply.
    const { nowUs, results } = readReply(reply, questions);
    if (!this.testClock) this.serverTime.learn(nowUs, receivedUs);
    const late: Question[] = [];
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

function givesBack({ steps }: Question): boolean {
  return steps.every(({ op }) => op === 'put');
}
