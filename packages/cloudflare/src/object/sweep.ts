/** Deletes expired rows whenever the object's alarm fires. An object has only one alarm. */

import type { ObjectStorage } from '../platform.js';
import type { Rows } from './rows.js';

/** The shortest time between alarms. Setting an alarm costs as much as a write, and running it as much as a request. */
const PAUSE_MS = 600_000;

export class Sweep {
  private readonly storage: ObjectStorage;
  private readonly rows: Rows;
  private alarmMs = Infinity;

  constructor(storage: ObjectStorage, rows: Rows) {
    this.storage = storage;
    this.rows = rows;
  }

  /** Reads the alarm, which an earlier instance of the object may have set. Must be called first. */
  async load(): Promise<void> {
    this.alarmMs = (await this.storage.getAlarm()) ?? Infinity;
  }

  async setAlarm(endsUs: number, nowUs: number): Promise<void> {
    const dueMs = Math.ceil(Math.max(endsUs / 1000, nowUs / 1000 + PAUSE_MS));
    if (dueMs >= this.alarmMs) return;
    this.alarmMs = dueMs;
    await this.storage.setAlarm(dueMs);
  }

  async onAlarm(nowUs: number): Promise<void> {
    this.alarmMs = Infinity;
    const firstUs = this.rows.reclaim(nowUs);
    if (firstUs === Infinity) await this.storage.deleteAll();
    else await this.setAlarm(firstUs, nowUs);
  }
}
