/** Notices a connection that is open but gives no answers: the server hangs, or is gone. */

import { SpillwayError } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { afterIdly, afterThisTurn } from '../host.js';

/** A connection is silent when calls have had no answer for so long. */
const HUNG_US = 2_000_000;

/**
 * How long such a connection then has to answer. The oldest call may be one that the client kept while it was
 * disconnected and sends again on its new connection, which is healthy and answers within a round trip.
 */
const LAST_CHANCE_MS = 250;

/** The shortest time between two actions about one node. */
const AGAIN_US = 60_000_000;

/** More nodes than any cluster has. */
const MOST_NODES = 1_000;

/** One node's connection. */
interface Line {
  /** When the oldest call without an answer was sent; 0 if every call was answered. */
  sinceUs: number;
  actedUs: number;
  /** The error for the next call to this node. */
  advice: SpillwayError | undefined;
}

export class Silence {
  private readonly lines = new Map<string, Line>();
  private readonly client: Pick<RedisClient, 'reconnect' | 'cure'>;
  private readonly reconnects: boolean;

  /** @param reconnects whether the store may end a connection of its user's client */
  constructor(client: Pick<RedisClient, 'reconnect' | 'cure'>, reconnects: boolean) {
    this.client = client;
    this.reconnects = reconnects;
  }

  /**
   * A call was sent to `node`. Returns an error, at most once a minute, that says what the user can do about a dead
   * connection.
   */
  sent(node: string): SpillwayError | undefined {
    const nowUs = systemClock.nowUs();
    const line = this.lineOf(node);
    const { advice } = line;
    line.advice = undefined;
    if (line.sinceUs === 0) line.sinceUs = nowUs;
    else if (nowUs - line.sinceUs >= HUNG_US && nowUs - line.actedUs >= AGAIN_US) {
      this.lookAgain(node, line);
    }
    return advice;
  }

  /** A call to `node` was answered, or lost with its connection. */
  answered(node: string): void {
    const line = this.lines.get(node);
    if (line) line.sinceUs = 0;
  }

  private lineOf(node: string): Line {
    let line = this.lines.get(node);
    if (!line) {
      if (this.lines.size >= MOST_NODES) this.lines.clear();
      line = { sinceUs: 0, actedUs: -Infinity, advice: undefined };
      this.lines.set(node, line);
    }
    return line;
  }

  /** Then two turns more: if this process stood still, an answer may have arrived without being read. */
  private lookAgain(node: string, line: Line): void {
    const { sinceUs, actedUs } = line;
    line.actedUs = Infinity; // one look at a time
    const look = (): void => {
      line.actedUs = actedUs;
      if (line.sinceUs !== sinceUs) return;
      line.actedUs = systemClock.nowUs();
      if (this.reconnects) this.client.reconnect?.(node);
      else line.advice = hung(this.client.cure);
    };
    afterIdly(LAST_CHANCE_MS, () => afterThisTurn(() => afterThisTurn(look)));
  }
}

function hung(cure: string | undefined): SpillwayError {
  const message =
    'a connection to Redis is open but has answered nothing for 2 s: the machine hangs or is gone' +
    (cure ? `; ${cure}` : '');
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { kind: 'hung' });
}
