/** Lets questions through to a client only while it is ready, and gets it ready again soon. */

import { systemClock } from '@spillway/core';
import type { RedisClient } from './client.js';
import { tooLate, unavailable } from './failures.js';
import { after, callOff } from './host.js';
import { failAll, type Question } from './question.js';

/** How often a client that waits to reconnect is told to try now: its own delay grows to seconds. */
const NUDGE_US = 250_000;

/** Of a client that will be ready, or not, without being told to. */
const WAITING: ReadonlySet<string> = new Set(['wait', 'connecting', 'connect']);

const EVENTS = ['ready', 'close', 'end'] as const;

/** What ioredis keeps, and does not declare, of the next attempt to connect that it has put off. */
interface Reconnecting {
  reconnectTimeout?: unknown;
  retryAttempts?: unknown;
}

export class Gate {
  private readonly client: RedisClient;
  private readonly send: (questions: readonly Question[]) => void;
  private waiting: readonly Question[] = [];
  private nudgedUs = -Infinity;
  private stopTimer: (() => void) | undefined;

  constructor(client: RedisClient, send: (questions: readonly Question[]) => void) {
    this.client = client;
    this.send = send;
  }

  /** Sends, keeps until the client is ready, or fails at once. A client's own queue is never used: it knows no deadlines. */
  pass(questions: readonly Question[]): void {
    const { client } = this;
    const { status } = client;
    if (status === 'ready') {
      this.send(inTime(questions));
    } else if (WAITING.has(status)) {
      if (status === 'wait') client.connect().catch(ignore);
      this.keep(questions);
    } else {
      if (status === 'reconnecting') this.nudge();
      failAll(questions, unavailable(status));
    }
  }

  private keep(questions: readonly Question[]): void {
    this.waiting = [...this.waiting, ...questions];
    this.look();
  }

  /** Something has changed: sends or fails what waits, or goes on waiting. */
  private readonly look = (): void => {
    this.stopTimer?.();
    this.stopTimer = undefined;
    for (const event of EVENTS) this.client.removeListener(event, this.look);
    const questions = inTime(this.waiting);
    this.waiting = [];
    if (questions.length === 0) return;

    const { status } = this.client;
    if (status === 'ready') {
      this.send(questions);
    } else if (WAITING.has(status)) {
      this.waiting = questions;
      for (const event of EVENTS) this.client.once(event, this.look);
      const firstUs = questions.reduce((us, { deadlineUs }) => Math.min(us, deadlineUs), Infinity);
      if (firstUs < Infinity) {
        this.stopTimer = after(Math.ceil((firstUs - systemClock.nowUs()) / 1000), this.look);
      }
    } else {
      failAll(questions, unavailable(status));
    }
  };

  /**
   * Does what the client's timer would have done later: clears it and connects. To call connect() alone would leave the
   * timer running beside the next one, and attempts would multiply. The attempt is not counted, so that a retryStrategy
   * that gives up after so many does not do so early.
   */
  private nudge(): void {
    const nowUs = systemClock.nowUs();
    const client = this.client as RedisClient & Reconnecting;
    if (nowUs - this.nudgedUs < NUDGE_US || !client.reconnectTimeout) return;
    this.nudgedUs = nowUs;
    callOff(client.reconnectTimeout);
    client.reconnectTimeout = null;
    if (typeof client.retryAttempts === 'number') client.retryAttempts -= 1;
    client.connect().catch(ignore);
  }
}

/** The questions that somebody still waits for; the others are ended. */
function inTime(questions: readonly Question[]): readonly Question[] {
  if (questions.every(({ deadlineUs }) => deadlineUs === Infinity)) return questions;
  const nowUs = systemClock.nowUs();
  return questions.filter((question) => {
    if (question.deadlineUs > nowUs) return true;
    question.reject(tooLate());
    return false;
  });
}

function ignore(): void {}
