/** Notices a connection that is open and says nothing: its machine hangs, or has vanished without a word. */

import { SpillwayError } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { afterThisTurn } from '../host.js';

/** Calls must be unanswered for so long. */
const HUNG_US = 2_000_000;

/** Something is done about one node so often at most. */
const AGAIN_US = 60_000_000;

/** More nodes than any cluster has. */
const MOST_NODES = 1_000;

/** What is known of one node. */
interface Line {
  /** When the first call was sent that has no answer; 0 if all have. */
  sinceUs: number;
  actedUs: number;
  /** What to tell whoever asks next. */
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

  /** A call was sent to `node`. Returns, once a minute, what its user can do about a connection that is dead. */
  asked(node: string): SpillwayError | undefined {
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

  /** A call to `node` has been answered, or was lost with its connection. */
  heard(node: string): void {
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

  /** After a stall of this process the answer may have arrived, and not been read. */
  private lookAgain(node: string, line: Line): void {
    const { sinceUs } = line;
    afterThisTurn(() =>
      afterThisTurn(() => {
        if (line.sinceUs !== sinceUs) return;
        line.actedUs = systemClock.nowUs();
        if (this.reconnects) this.client.reconnect?.(node);
        else line.advice = hung(this.client.cure);
      }),
    );
  }
}

function hung(cure: string | undefined): SpillwayError {
  const message =
    'a connection to Redis is open but has answered nothing for 2 s: the machine hangs or is gone' +
    (cure ? `; ${cure}` : '');
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { kind: 'hung' });
}
