/** Detects connections that are open but get no replies, because the server hangs or is unreachable. */

import { SpillwayError } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { afterIdly, afterThisTurn } from '../host.js';

/** A connection is suspect when calls have had no reply for this long. */
const HUNG_US = 2_000_000;

/**
 * How long a suspect connection then has to reply. The oldest call may be one that the client resent on a new, healthy
 * connection, which replies within a round trip.
 */
const LAST_CHANCE_MS = 250;

/** The minimum time between two actions for one node. */
const AGAIN_US = 60_000_000;

/** More nodes than any cluster has. */
const MOST_NODES = 1_000;

/** One node's connection. */
interface Line {
  /** When the oldest unanswered call was sent; 0 if there is none. */
  sinceUs: number;
  actedUs: number;
  /** The error for the next call to this node. */
  advice: SpillwayError | undefined;
}

export class Silence {
  private readonly lines = new Map<string, Line>();
  private readonly client: Pick<RedisClient, 'reconnect' | 'cure'>;
  private readonly reconnects: boolean;

  /** @param reconnects whether the store may close a connection of the user's client */
  constructor(client: Pick<RedisClient, 'reconnect' | 'cure'>, reconnects: boolean) {
    this.client = client;
    this.reconnects = reconnects;
  }

  /**
   * Call after sending to `node`. Returns an error, at most once a minute, that says how to recover from a dead
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

  /** Call when a call to `node` was answered, or lost with its connection. */
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

  /** Also waits two event loop turns: if this process was stalled, a reply may have arrived unread. */
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
    'a connection to Redis is open but has answered nothing for 2 s: the server hangs or is unreachable' +
    (cure ? `; ${cure}` : '');
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { kind: 'hung' });
}
