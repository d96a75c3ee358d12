/** Detects connections that are open but get no replies, because the server hangs or is unreachable. */

import { SpillwayError } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { afterIdly, afterThisTurn } from '../host.js';

const SUSPECT_AFTER_US = 2_000_000;

/**
 * A suspect connection gets this much more time for a reply, because the client may have resent the oldest call on a
 * new connection.
 */
const GRACE_MS = 250;

const MIN_ACTION_INTERVAL_US = 60_000_000;

const MAX_NODES = 1_000;

interface Connection {
  /** When the oldest unanswered call was sent; 0 if there is none. */
  unansweredSinceUs: number;
  actedUs: number;
  nextError: SpillwayError | undefined;
}

export class Silence {
  private readonly connections = new Map<string, Connection>();
  private readonly client: Pick<RedisClient, 'reconnect' | 'cure'>;
  private readonly reconnects: boolean;

  constructor(client: Pick<RedisClient, 'reconnect' | 'cure'>, reconnects: boolean) {
    this.client = client;
    this.reconnects = reconnects;
  }

  /**
   * Call this after sending to `node`. If the connection seems dead, returns an error, at most once a minute, that says
   * how to recover.
   */
  sent(node: string): SpillwayError | undefined {
    const nowUs = systemClock.nowUs();
    const connection = this.connectionOf(node);
    const { nextError } = connection;
    connection.nextError = undefined;
    if (connection.unansweredSinceUs === 0) connection.unansweredSinceUs = nowUs;
    else if (
      nowUs - connection.unansweredSinceUs >= SUSPECT_AFTER_US &&
      nowUs - connection.actedUs >= MIN_ACTION_INTERVAL_US
    ) {
      this.checkAgain(node, connection);
    }
    return nextError;
  }

  /** Call this when a call to `node` was answered, or lost with its connection. */
  answered(node: string): void {
    const connection = this.connections.get(node);
    if (connection) connection.unansweredSinceUs = 0;
  }

  private connectionOf(node: string): Connection {
    let connection = this.connections.get(node);
    if (!connection) {
      if (this.connections.size >= MAX_NODES) this.connections.clear();
      connection = { unansweredSinceUs: 0, actedUs: -Infinity, nextError: undefined };
      this.connections.set(node, connection);
    }
    return connection;
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
      if (this.reconnects) this.client.reconnect?.(node);
      else connection.nextError = hung(this.client.cure);
    };
    afterIdly(GRACE_MS, () => afterThisTurn(() => afterThisTurn(check)));
  }
}

function hung(cure: string | undefined): SpillwayError {
  const message =
    'a connection to Redis is open but has answered nothing for 2 s: the server hangs or is unreachable' +
    (cure ? `; ${cure}` : '');
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { kind: 'hung' });
}
