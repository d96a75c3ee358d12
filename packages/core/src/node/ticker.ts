/** The timer of a signal: started when it is first needed, told to whoever watches. */

import { every } from './host.js';

export class Ticker {
  private stop: (() => void) | undefined;
  private closed = false;
  private readonly listeners = new Set<() => void>();
  private readonly periodMs: number;
  private readonly begin: () => void;
  private readonly measure: () => void;

  constructor(periodMs: number, begin: () => void, measure: () => void) {
    this.periodMs = periodMs;
    this.begin = begin;
    this.measure = measure;
  }

  /** Whether it runs; starts it unless it was closed. */
  running(): boolean {
    if (this.closed) return false;
    if (!this.stop) {
      this.begin();
      this.stop = every(this.periodMs, () => this.tick());
    }
    return true;
  }

  /** Returns a function that ends it. */
  watch(listener: () => void): () => void {
    this.running();
    // The same function may watch twice.
    const own = () => listener();
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  close(): void {
    this.closed = true;
    this.stop?.();
    this.listeners.clear();
  }

  private tick(): void {
    this.measure();
    for (const listener of this.listeners) listener();
  }
}
