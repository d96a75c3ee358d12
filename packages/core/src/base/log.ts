/** Writes log lines, and stores a value for each recent subject of log lines. */

import { disregard, type Logger } from './host.js';

/** Logs a line. Ignores errors of the logger, which must not fail a request. */
export function warn(logger: Logger, text: string): void {
  try {
    disregard(logger.warn(`Spillway: ${text}`));
  } catch {
    // A failing logger can't be reported anywhere else.
  }
}

/** A map of the 1,000 most recently set entries. */
export class RecentSubjects<Value> {
  private readonly values = new Map<string, Value>();

  get(reason: string): Value | undefined {
    return this.values.get(reason);
  }

  set(reason: string, value: Value): void {
    this.values.delete(reason);
    this.values.set(reason, value);
    if (this.values.size <= 1_000) return;
    const [oldest] = this.values.keys();
    this.values.delete(oldest as string);
  }
}
