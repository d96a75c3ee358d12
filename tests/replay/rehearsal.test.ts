/** Whatever the chunks and the log: a replay decides as a guard in shadow mode has decided. */

import { type OnDecision, replay } from '@spillway/cli/replay';
import {
  createGuard,
  fixedWindow,
  type LimitRequest,
  rateLimit,
  slidingLog,
  slidingWindow,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LoggedRequest, madeUpLog, realLog } from './access-log.js';

const policy = [
  rateLimit({ name: 'bucket', limit: 5, window: '1m', burst: 8 }),
  rateLimit({ name: 'fixed', limit: 6, window: '1m', algorithm: fixedWindow }),
  rateLimit({ name: 'sliding', limit: 6, window: '1m', algorithm: slidingWindow }),
  rateLimit({ name: 'log', limit: 40, window: '10m', algorithm: slidingLog, key: 'everybody' }),
  rateLimit({ name: 'writes', limit: 2, window: '1s', cost: (r) => (r.method === 'POST' ? 1 : 0) }),
];

const methodOf = (at: number): string => (at % 3 === 0 ? 'POST' : 'GET');

/** With the microseconds that a log of JSON lines can have. */
function asLines(requests: readonly LoggedRequest[]): string {
  const lines = requests.map(({ client, timeUs }, at) =>
    JSON.stringify({ time: timeUs, remote_addr: client, method: methodOf(at), status: 200 }),
  );
  return lines.join('\n');
}

/** The decisions of a live process, as `limiter outcome remaining key`. */
async function liveRun(requests: readonly LoggedRequest[]): Promise<string[]> {
  const said: string[] = [];
  const clock = new ManualClock();
  const guard = createGuard(policy, {
    clock,
    mode: 'shadow',
    validate: false,
    onDecision: ({ limiter, outcome, remaining }, key) =>
      void said.push(`${limiter} ${outcome} ${remaining} ${key}`),
  });
  for (const [at, { client, timeUs }] of requests.entries()) {
    clock.setUs(timeUs);
    const method = methodOf(at);
    const request = {
      method,
      path: '/',
      clientIp: client,
      header: () => undefined,
      raw: undefined,
    };
    await guard.admit(request as LimitRequest);
  }
  return said;
}

/** Requests that come within their second, by a fixed pattern. */
const moved = (requests: readonly LoggedRequest[]): LoggedRequest[] => {
  let latestUs = 0;
  return requests.map(({ client, timeUs }, at) => {
    latestUs = Math.max(latestUs, timeUs + ((at * 7_919) % 1_000_000));
    return { client, timeUs: latestUs };
  });
};

describe.each([
  ['a made-up log', moved(madeUpLog(4_000))],
  ['the real log, or another one', moved(realLog() ?? madeUpLog(2_000))],
])('%s', (_, requests) => {
  it('is decided as by a guard in shadow, decision by decision', async () => {
    const said: string[] = [];
    async function* log() {
      yield Buffer.from(asLines(requests));
    }
    const report = await replay({
      logs: [log()],
      policy,
      onDecision: ({ limiter, outcome, remaining }, key) =>
        void said.push(`${limiter} ${outcome} ${remaining} ${key}`),
    });
    expect(report).toMatchObject({ requests: requests.length, unparsed: 0, outOfOrder: 0 });
    const live = await liveRun(requests);
    expect(live.filter((one) => one.includes('would-deny')).length).toBeGreaterThan(100);
    expect(said).toEqual(live);
  });
});

/** In chunks of these sizes, in turn. */
async function* inChunks(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] as number;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

it('does not depend on where chunks end', async () => {
  const requests = madeUpLog(400);
  const text = `${asLines(requests)}\r\n{"cut":\n\n\u0000\n${'x'.repeat(70_000)}\n`;
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xc3, 10, 0xff])]);
  // Another server, with the same callers and the same whole seconds.
  const other = Buffer.from(asLines(requests.filter((_, at) => at % 3 > 0)));
  async function reportOf(...sizes: readonly (readonly number[])[]) {
    const said: string[] = [];
    const logs = [inChunks(bytes, sizes[0] as number[]), inChunks(other, sizes[1] as number[])];
    const onDecision = (...[{ limiter, outcome }, key, { method }]: Parameters<OnDecision>) =>
      void said.push(`${limiter} ${outcome} ${key} ${method}`);
    return { report: await replay({ logs, policy, onDecision }), said };
  }
  const whole = await reportOf([bytes.length], [other.length]);
  expect(whole.report).toMatchObject({ requests: 666, unparsed: 5, wholeSeconds: true });
  const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(sizes, sizes, async (some, others) => {
      expect(await reportOf(some, others)).toEqual(whole);
    }),
    { numRuns: 30 },
  );
});
