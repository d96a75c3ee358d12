/** Lines for a logger, and what is remembered of them. */

import { disregard, type Logger } from './host.js';

/** A logger that fails must not fail a request, and there is no other to tell. */
export function warn(logger: Logger, text: string): void {
  try {
    disregard(logger.warn(`Spillway: ${text}`));
  } catch {
    // Nothing is left to do.
  }
}

/** What is remembered of the lines about the last 1,000 reasons. */
export class Remembered<Value> {
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
