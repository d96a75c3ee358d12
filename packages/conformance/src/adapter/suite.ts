import type { Check } from '../harness.js';
import { addresses } from './checks/addresses.js';
import { answers } from './checks/answers.js';
import { browsers } from './checks/browsers.js';
import { once, onceAbandoned } from './checks/once.js';
import { fleet, workers } from './checks/overload.js';
import { abandoned, permits } from './checks/permits.js';
import {
  type AdapterOptions,
  type AdapterSettings,
  type AdapterTarget,
  FORWARDED,
} from './target.js';
import { Visit } from './visit.js';
import { Wire } from './wire.js';

/**
 * The checks that a service behind an adapter must pass, over node:http. Run each check in a separate test, with any
 * runner. Don't run two checks of a service at the same time. All checks use new client addresses, and all but one use
 * new random keys. So they can run in any order, and again on the same service.
 *
 * @example
 * ```ts
 * import { adapterConformance } from '@spillway/conformance';
 * import { test } from 'vitest';
 *
 * // The demo API, started with FOUR=1 LIMIT=5 WINDOW=1h TRUST_PROXY=1.
 * const target = { url: () => 'http://127.0.0.1:3000' };
 * for (const { name, run } of adapterConformance(target)) test(name, run);
 * ```
 */
export function adapterConformance(target: AdapterTarget, options: AdapterOptions = {}): Check[] {
  const addressHeader = (options.addressHeader ?? FORWARDED).toLowerCase();
  const defaults = { workers: true, oneGuard: false, lengths: true, aborts: true };
  const settings: AdapterSettings = { ...defaults, ...options, addressHeader };
  const sentences = [
    ...answers,
    ...browsers,
    ...addresses(addressHeader),
    ...permits,
    ...(settings.aborts ? abandoned : []),
    ...once,
    ...(settings.aborts ? onceAbandoned : []),
    ...fleet,
    ...(settings.workers ? workers : []),
  ];
  return sentences.map(([name, prove]) => ({
    name,
    async run() {
      const wire = new Wire(new URL(await target.url()));
      try {
        await prove(new Visit(wire, settings));
      } finally {
        wire.abortRequests();
      }
    },
  }));
}
