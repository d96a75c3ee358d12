import { disregard, type Logger } from './host.js';

/** Logs a warning. Errors of the logger are ignored, so they can't fail a request. */
export function warn(logger: Logger, text: string): void {
  try {
    disregard(logger.warn(`Spillway: ${text}`));
  } catch {
    // A failing logger can't be reported anywhere else.
  }
}

export class RecentSubjects<Value> {
  private readonly values = new Map<string, Value>();
  protected readonly most: number = 1_000;

  get(reason: string): Value | undefined {
    return this.values.get(reason);
  }

  set(reason: string, value: Value): void {
    this.values.delete(reason);
    this.values.set(reason, value);
    if (this.values.size <= this.most) return;
    const [oldest] = this.values.keys();
    this.values.delete(oldest as string);
  }
}
