/** Sends scripts to Redis, and watches the connections. */

import { isSpillwayError, SpillwayError } from '@spillway/core';
import { disregard } from '@spillway/core/direct';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import type { Script } from '../codec/script.js';
import {
  failedCall,
  isTimeout,
  isUnknownScript,
  tooLate,
  unanswered,
  unavailable,
  unsent,
} from '../failures.js';
import { hashSlotOf } from '../hash-slot.js';
import { after, afterIdly, afterThisTurn } from '../host.js';
import { ReadyQueue } from './ready-queue.js';
import { ofNode, ServerTime } from './server-time.js';

/**
 * How long calls wait for the call that sends the script's text. A proxy can lose that call and keep the connection.
 */
const LOAD_US = 1_000_000;

/**
 * A script call, with all keys in one hash slot. It has callbacks, because a promise per call would take as long as
 * reading the reply.
 */
export interface ScriptCall {
  readonly script: Script;
  readonly keys: string[];
  readonly args: string[];
  /** Must not throw. */
  takeReply(reply: unknown): void;
  failCall(error: SpillwayError): void;
}

export class Transport {
  private readonly client: RedisClient;
  private readonly silence: Silence | undefined;
  private readonly queue: ReadyQueue;
  private readonly serverTimes = new Map<string, ServerTime>();
  /** The running calls that carry a script's text, by script and node. */
  private readonly loads = new Map<string, Promise<unknown>>();
  private wasAway = false;

  constructor(client: RedisClient, silence?: Silence) {
    this.client = client;
    this.silence = silence;
    this.queue = ReadyQueue.forClient(client);
  }

  get isReady(): boolean {
    try {
      return this.client.state === 'ready';
    } catch {
      return false; // `ready` then fails the call
    }
  }

  /**
   * Resolves as soon as a call can be sent. Check {@link isReady} again before sending.
   *
   * @throws SpillwayError `SPW_STORE_TIMEOUT` after the deadline, `SPW_STORE_UNAVAILABLE`, or `SPW_STORE_ERROR` if the
   * client throws
   */
  ready(deadlineUs: number): Promise<void> {
    this.wasAway = true;
    return this.queue.wait(deadlineUs);
  }

  /** The node of a slot; `''` if there is only one server, or the client can't tell. */
  nodeOf(slot: number): string {
    return this.client.nodeOf?.(slot) ?? '';
  }

  clockOf(node: string): ServerTime {
    return ofNode(this.serverTimes, node, newTime);
  }

  together(send: () => void): void {
    let isSent = false;
    const once = (): void => {
      if (isSent) return;
      isSent = true;
      send();
    };
    try {
      const given: unknown = this.client.together?.(once);
      // An async implementation may reject, which must not crash the process.
      if (given) Promise.resolve(given).catch(ignore);
    } catch {
      // Batching is optional: the calls are sent one by one below.
    }
    once();
  }

  async runScript(
    script: Script,
    keys: string[],
    args: string[],
    { deadlineUs }: { readonly deadlineUs: number },
  ): Promise<unknown> {
    while (!this.isReady) await this.ready(deadlineUs);
    if (systemClock.nowUs() >= deadlineUs) throw tooLate();
    const slot = this.client.isCluster ? hashSlotOf(keys[0] ?? '') : 0;
    const reply = new Promise((take, fail) => {
      this.sendNow({ script, keys, args, takeReply: take, failCall: fail }, this.nodeOf(slot));
    });
    return inTime(reply, deadlineUs);
  }

  /** Sends immediately, whatever the client's state. */
  sendNow(call: ScriptCall, node: string): void {
    if (this.wasAway) this.reconnected();
    const advice = this.silence?.takeAdvice(node);
    if (advice) {
      call.failCall(advice);
      return;
    }
    let sent: Promise<unknown>;
    try {
      // Wraps the result of a client that returns no promise, such as a stub.
      sent = Promise.resolve(this.client.evalsha(call.script.sha, call.keys, call.args));
    } catch (error) {
      call.failCall(unsent(error));
      return;
    }
    this.silence?.sent(node);
    sent.then(
      (reply) => {
        this.silence?.answered(node);
        call.takeReply(reply);
      },
      (error) => this.afterError(error, call, node),
    );
  }

  private reconnected(): void {
    this.wasAway = false;
    for (const time of this.serverTimes.values()) time.renew();
  }

  /**
   * Resends the call if the server does not know the script (new server, failover, SCRIPT FLUSH). No other error leads
   * to a resend, because only this one proves that nothing was run.
   */
  private async afterError(error: unknown, call: ScriptCall, node: string): Promise<void> {
    let reply: unknown;
    try {
      if (!isUnknownScript(error)) throw error;
      reply = await this.loadScript(call, node);
    } catch (failure) {
      if (!isTimeout(failure)) this.silence?.answered(node);
      call.failCall(failedCall(failure, this.client.isCluster));
      return;
    }
    this.silence?.answered(node);
    call.takeReply(reply);
  }

  private checkReady(): void {
    if (!this.isReady) throw unavailable(this.client.state);
  }

  /**
   * Runs a script on a server that does not know it. Of concurrent calls, only one carries the text, and the others
   * wait for it.
   *
   * @throws SpillwayError `SPW_STORE_UNAVAILABLE`, or `SPW_STORE_TIMEOUT` if the call with the text gets no reply; also
   * the client's errors
   */
  private async loadScript(call: ScriptCall, node: string): Promise<unknown> {
    const { client, loads } = this;
    const { script, keys, args } = call;
    const name = `${script.sha} ${node}`;
    const before = loads.get(name);
    if (before) {
      await before.catch((error) => {
        if (isSpillwayError(error)) throw error; // the text was not answered
      });
      this.checkReady();
      try {
        return await client.evalsha(script.sha, keys, args);
      } catch (error) {
        if (!isUnknownScript(error)) throw error;
      }
    }
    this.checkReady();
    const reply = client.eval(script.text, keys, args);
    // On hosts where requests must not share promises, a call can end with its request, so other requests must not
    // wait.
    if (client.coalesce === false) return reply;
    const load = inTime(reply, systemClock.nowUs() + LOAD_US);
    loads.set(name, load);
    try {
      return await load;
    } finally {
      if (loads.get(name) === load) loads.delete(name);
    }
  }
}

function ignore(): void {}

const newTime = (): ServerTime => new ServerTime();

function inTime<Value>(call: Promise<Value>, deadlineUs: number): Promise<Value> {
  if (deadlineUs === Infinity) return call;
  return new Promise((resolve, reject) => {
    const leftUs = deadlineUs - systemClock.nowUs();
    // After an event loop stall, the timer fires even if the reply has arrived. So the sockets are read once more.
    const stop = after(leftUs / 1000, () => afterThisTurn(() => reject(unanswered())));
    call.then(resolve, reject).finally(stop);
  });
}

const SUSPECT_AFTER_US = 2_000_000;

/**
 * A suspect connection gets this much more time for a reply, because the client may have resent the oldest call on a
 * new connection.
 */
const GRACE_MS = 250;

const MIN_ACTION_INTERVAL_US = 60_000_000;

interface Connection {
  /** When the first call after the last reply was sent; 0 if there is none. */
  unansweredSinceUs: number;
  actedUs: number;
  nextError: SpillwayError | undefined;
}

const newConnection = (): Connection => {
  return { unansweredSinceUs: 0, actedUs: -Infinity, nextError: undefined };
};

/** Detects connections that are open but get no replies, because the server hangs or is unreachable. */
export class Silence {
  private readonly connections = new Map<string, Connection>();
  private readonly client: Pick<RedisClient, 'reconnect' | 'cure'>;
  private readonly reconnects: boolean;

  constructor(client: Pick<RedisClient, 'reconnect' | 'cure'>, reconnects: boolean) {
    this.client = client;
    this.reconnects = reconnects;
  }

  /**
   * Call this before sending to `node`. If an earlier check found the connection dead but did not reconnect, returns an
   * error that says how to recover, at most once a minute. Then don't send: the caller may send the call again.
   */
  takeAdvice(node: string): SpillwayError | undefined {
    const connection = this.connections.get(node);
    const advice = connection?.nextError;
    if (advice) connection.nextError = undefined;
    return advice;
  }

  /** Call this after sending to `node`. */
  sent(node: string): void {
    const nowUs = systemClock.nowUs();
    const connection = ofNode(this.connections, node, newConnection);
    if (connection.unansweredSinceUs === 0) connection.unansweredSinceUs = nowUs;
    else if (
      nowUs - connection.unansweredSinceUs >= SUSPECT_AFTER_US &&
      nowUs - connection.actedUs >= MIN_ACTION_INTERVAL_US
    ) {
      this.checkAgain(node, connection);
    }
  }

  /** Call this when a call to `node` was answered, or lost with its connection: the next one needs no cure. */
  answered(node: string): void {
    const connection = this.connections.get(node);
    if (!connection) return;
    connection.unansweredSinceUs = 0;
    connection.nextError = undefined;
  }

  /**
   * Reconnects, or prepares an error, if no reply comes in the grace time. Two more event loop turns pass before the
   * check, to read replies that arrived while this process was stalled.
   */
  private checkAgain(node: string, connection: Connection): void {
    const { unansweredSinceUs, actedUs } = connection;
    connection.actedUs = Infinity; // one check at a time
    const check = (): void => {
      connection.actedUs = actedUs;
      if (connection.unansweredSinceUs !== unansweredSinceUs) return;
      connection.actedUs = systemClock.nowUs();
      if (this.reconnects) this.reconnect(node);
      else connection.nextError = hung(this.client.cure);
    };
    afterIdly(GRACE_MS, () => afterThisTurn(() => afterThisTurn(check)));
  }

  private reconnect(node: string): void {
    try {
      disregard(this.client.reconnect?.(node));
    } catch {
      // A mistake of a custom client must not crash the process.
    }
  }
}

function hung(cure: string | undefined): SpillwayError {
  const message =
    'a connection to Redis is open but has answered nothing for 2 s: the server hangs or is unreachable' +
    (cure ? `; ${cure}` : '');
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { kind: 'hung' });
}
