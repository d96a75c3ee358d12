/** Clears what is over, by the one alarm of an object. */

import type { ObjectStorage } from '../platform.js';
import type { Rows } from './rows.js';

/** To set an alarm costs as much as to write a row, and to be woken a request: so it is set at most so often. */
const PAUSE_MS = 600_000;

export class Sweep {
  private readonly storage: ObjectStorage;
  private readonly rows: Rows;
  private readonly pauseMs: number;
  /** When the alarm comes; Infinity if none is set. */
  private alarmMs = Infinity;

  constructor(storage: ObjectStorage, rows: Rows, pauseMs: number = PAUSE_MS) {
    this.storage = storage;
    this.rows = rows;
    this.pauseMs = pauseMs;
  }

  /** To be called before anything else: an alarm outlives the memory of its object. */
  async load(): Promise<void> {
    this.alarmMs = (await this.storage.getAlarm()) ?? Infinity;
  }

  /** A text was written that is over at `endsUs`. The alarm is set only if it would come later than it should. */
  async scheduleAlarm(endsUs: number, nowUs: number): Promise<void> {
    const dueMs = Math.ceil(Math.max(endsUs / 1000, nowUs / 1000 + this.pauseMs));
    if (dueMs >= this.alarmMs) return;
    this.alarmMs = dueMs;
    await this.storage.setAlarm(dueMs);
  }

  /** The alarm has come. */
  async onAlarm(nowUs: number): Promise<void> {
    this.alarmMs = Infinity;
    const firstUs = this.rows.deleteOver(nowUs);
    if (firstUs === undefined) await this.rows.deleteAll();
    else await this.scheduleAlarm(firstUs, nowUs);
  }
}
