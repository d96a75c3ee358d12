/**
 * Runs scripts on a client: the one place that waits until the client is ready, sends, teaches a server a script that
 * it does not know, gives up at a deadline, and makes errors of what fails.
 */

import { systemClock } from '@spillway/core/store';
import slotOf from 'cluster-key-slot';
import type { RedisClient } from '../clients/client.js';
import type { Script } from '../codec/script.js';
import {
  failedCall,
  isUnknownScript,
  tooLate,
  unanswered,
  unavailable,
  unsent,
} from '../failures.js';
import { after, afterThisTurn } from '../host.js';
import { ReadyQueue } from './ready-queue.js';
import { type ServerTime, ServerTimes } from './server-time.js';
import type { Silence } from './silence.js';

/**
 * One script with what it is given, and who gets the reply. All keys have one hash slot. There are functions instead of
 * a promise because a promise for each call takes as long as reading its reply.
 */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: string[];
  readonly args: string[];
  /** Must not throw. */
  take(reply: unknown): void;
  fail(error: unknown): void;
}

export class Transport {
  private readonly client: RedisClient;
  private readonly silence: Silence | undefined;
  private readonly queue: ReadyQueue;
  private readonly serverTimes = new ServerTimes();
  /** What is being taught now: by node and script, the call that carries the text. */
  private readonly lessons = new Map<string, Promise<unknown>>();
  private wasAway = false;

  constructor(client: RedisClient, silence?: Silence) {
    this.client = client;
    this.silence = silence;
    this.queue = ReadyQueue.of(client);
  }

  /** Whether a call can be sent at once. */
  get isReady(): boolean {
    return this.client.state === 'ready';
  }

  /**
   * Resolves as soon as a call can be sent; when it does, look at {@link isReady} again before you send.
   *
   * @throws SpillwayError `SPW_STORE_TIMEOUT` after the deadline, `SPW_STORE_UNAVAILABLE`
   */
  ready(deadlineUs: number): Promise<void> {
    this.wasAway = true;
    return this.queue.wait(deadlineUs);
  }

  /** The node that has a hash slot; `''` where there is only one server, or the client cannot tell. */
  nodeOf(slot: number): string {
    return this.client.nodeOf?.(slot) ?? '';
  }

  /** The clock of a node: deadlines are sent as instants on it. */
  clockOf(node: string): ServerTime {
    return this.serverTimes.of(node);
  }

  /** Runs `send` once, which sends several calls, so that the client can write them together. */
  together(send: () => void): void {
    let isSent = false;
    const once = (): void => {
      if (isSent) return;
      isSent = true;
      send();
    };
    try {
      const given: unknown = this.client.together?.(once);
      // Of an async function, whose failure nobody waits for: it must not end the process.
      if (given) Promise.resolve(given).catch(ignore);
    } catch {
      // Written one by one, calls arrive as well.
    }
    once();
  }

  /**
   * Waits until the client is ready, sends, and waits for the reply, all that until the deadline (by the process's
   * clock).
   *
   * @throws SpillwayError `SPW_STORE_TIMEOUT`, `SPW_STORE_UNAVAILABLE`, `SPW_STORE_ERROR`
   */
  async run(
    script: Script,
    keys: string[],
    args: string[],
    { deadlineUs }: { readonly deadlineUs: number },
  ): Promise<unknown> {
    while (!this.isReady) await this.ready(deadlineUs);
    if (systemClock.nowUs() >= deadlineUs) throw tooLate();
    const slot = this.client.isCluster ? slotOf(keys[0] ?? '') : 0;
    const reply = new Promise((take, fail) => {
      this.send({ script, keys, args, take, fail }, this.nodeOf(slot));
    });
    return inTime(reply, deadlineUs);
  }

  /**
   * Sends now, to the node that has the keys, whatever the client's state. Ends the call as {@link run} does, but knows
   * no deadline.
   */
  send(call: ScriptCall, node: string): void {
    if (this.wasAway) this.cameBack();
    let sent: Promise<unknown>;
    try {
      // A client that returns no promise, such as a stub, must end the call too. A promise is not wrapped.
      sent = Promise.resolve(this.client.evalsha(call.script.sha, call.keys, call.args));
    } catch (error) {
      call.fail(unsent(error));
      return;
    }
    const advice = this.silence?.sent(node);
    if (advice) call.fail(advice);
    // What comes after the advice only tells that the node is alive.
    this.follow(sent, node, advice ? { ...call, take: ignore, fail: ignore } : call);
  }

  private follow(sent: Promise<unknown>, node: string, call: ScriptCall): void {
    sent.then(
      (reply) => {
        this.silence?.answered(node);
        call.take(reply);
      },
      (error) => this.afterError(error, call, node),
    );
  }

  /** The client may be connected to another server now, with another clock. */
  private cameBack(): void {
    this.wasAway = false;
    this.serverTimes.renew();
  }

  /** A new server, a new master or SCRIPT FLUSH: only after such an error is a call sent again. Nothing was run. */
  private async afterError(error: unknown, call: ScriptCall, node: string): Promise<void> {
    let reply: unknown;
    try {
      if (!isUnknownScript(error)) throw error;
      reply = await this.teach(call, node);
    } catch (failure) {
      call.fail(failedCall(failure, this.client.isCluster));
      return;
    } finally {
      this.silence?.answered(node);
    }
    call.take(reply);
  }

  /** @throws SpillwayError `SPW_STORE_UNAVAILABLE` */
  private checkReady(): void {
    if (!this.isReady) throw unavailable(this.client.state);
  }

  /** Runs a script on a server that does not know it. Of the calls that meet this at one time, one carries the text. */
  private async teach(call: ScriptCall, node: string): Promise<unknown> {
    const { client, lessons } = this;
    const { script, keys, args } = call;
    const name = `${script.sha} ${node}`;
    const before = lessons.get(name);
    if (before) {
      await before.catch(() => undefined);
      this.checkReady();
      try {
        return await client.evalsha(script.sha, keys, args);
      } catch (error) {
        if (!isUnknownScript(error)) throw error;
      }
    }
    this.checkReady();
    const lesson = client.eval(script.text, keys, args);
    // Where requests must not share a promise, a call ends with the request that made it: nobody may wait for it.
    if (client.coalesce === false) return lesson;
    lessons.set(name, lesson);
    try {
      return await lesson;
    } finally {
      if (lessons.get(name) === lesson) lessons.delete(name);
    }
  }
}

function ignore(): void {}

function inTime<Value>(call: Promise<Value>, deadlineUs: number): Promise<Value> {
  if (deadlineUs === Infinity) return call;
  return new Promise((resolve, reject) => {
    const leftUs = deadlineUs - systemClock.nowUs();
    // After a stall of the event loop the timer comes first though the reply may have arrived: look for it once more.
    const stop = after(leftUs / 1000, () => afterThisTurn(() => reject(unanswered())));
    call.then(resolve, reject).finally(stop);
  });
}
