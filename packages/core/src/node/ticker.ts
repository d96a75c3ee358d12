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

  running(): boolean {
    if (this.closed) return false;
    if (!this.stop) {
      this.begin();
      this.stop = every(this.periodMs, () => this.tick());
    }
    return true;
  }

  onTick(listener: () => void): () => void {
    this.running();
    // A wrapper, because the same function may be added twice.
    const own = () => listener();
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  stopTicking(): void {
    this.closed = true;
    this.stop?.();
    this.listeners.clear();
  }

  private tick(): void {
    this.measure();
    for (const listener of this.listeners) listener();
  }
}
