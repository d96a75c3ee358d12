/** Signals, clocks and requests for the shedder's tests. */

import type { LimitRequest, Reading, Signal } from '@spillway/core';

export class StubSignal implements Signal {
  reading: Reading | undefined;
  private readonly listeners: (() => void)[] = [];
  readonly name: string;

  constructor(name: string = 'stub') {
    this.name = name;
  }

  read(): Reading | undefined {
    return this.reading;
  }

  watch(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Takes a measurement, and tells all listeners. */
  measure(value: number, spanMs?: number): void {
    this.reading = spanMs === undefined ? { value, ageMs: 0 } : { value, ageMs: 0, spanMs };
    for (const listener of this.listeners) listener();
  }
}

export function request(method: string, path = '/'): LimitRequest {
  return { method, path, clientIp: undefined, header: () => undefined, raw: undefined };
}
