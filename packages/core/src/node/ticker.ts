import { every } from './host.js';

/** Measures in every period, from its first use until it is closed. */
export abstract class Ticker {
  private stop: (() => void) | undefined;
  private closed = false;
  private readonly listeners = new Set<() => void>();
  private readonly periodMs: number;

  constructor(periodMs: number) {
    this.periodMs = periodMs;
  }

  watch(listener: () => void): () => void {
    this.running();
    // A wrapper, because the same function may be added twice.
    const own = () => listener();
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  close(): void {
    this.closed = true;
    this.stop?.();
    this.listeners.clear();
  }

  protected abstract measure(): void;

  protected begin(): void {
    this.measure();
  }

  protected running(): boolean {
    if (this.closed) return false;
    if (!this.stop) {
      this.begin();
      this.stop = every(this.periodMs, () => this.tick());
    }
    return true;
  }

  private tick(): void {
    this.measure();
    for (const listener of this.listeners) listener();
  }
}
