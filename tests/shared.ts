/**
 * Runs before each test file that shares its modules with others, and undoes what the file changed. A timer that
 * it left pending would otherwise fire in the next file, among fake timers too.
 */

import { systemClock } from '@spillway/core/store';
import { afterAll, vi } from 'vitest';

const { setTimeout, setInterval } = globalThis;
const timers = new Set<ReturnType<typeof setTimeout>>();

function recorded<Start extends typeof setTimeout | typeof setInterval>(start: Start): Start {
  return new Proxy(start, {
    apply(target, self, args) {
      const timer = Reflect.apply(target, self, args);
      timers.add(timer);
      return timer;
    },
  });
}

Object.assign(globalThis, {
  setTimeout: recorded(setTimeout),
  setInterval: recorded(setInterval),
});

afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  Reflect.deleteProperty(systemClock, 'nowUs');
  Object.assign(globalThis, { setTimeout, setInterval });
  for (const timer of timers) clearTimeout(timer);
});
