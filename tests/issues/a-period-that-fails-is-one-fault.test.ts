/** A billing period that is missing for one request is one fault, however it went missing. */

import {
  type BillingPeriod,
  calendar,
  createGuard,
  createLimiter,
  distinct,
  type Fault,
  rateLimit,
} from '@spillway/core';
import { request } from 'spillway-testkit';
import { expect, it } from 'vitest';

const failure = () => {
  throw new Error('no subscription');
};

async function faultsOf(limit: object): Promise<string[]> {
  const faults: Fault[] = [];
  const onFault = (fault: Fault) => faults.push(fault);
  const limiter = rateLimit({ name: 'paid', limit: 9, ...limit } as never);
  const guard = createGuard([limiter], { onFault, logger: false, callbackTimeout: '20ms' });
  const { decisions } = await guard.admit(request());
  expect(decisions[0]).toMatchObject({ allowed: true, remaining: 8 });
  return faults.map(({ source, error }) => `${source}: ${(error as Error).message}`);
}

const returned = (what: string) => `period: period of limiter "paid" returned ${what}`;

it.each<[string, () => unknown, string]>([
  ['throws', failure, 'period: no subscription'],
  ['rejects', async () => failure(), 'period: no subscription'],
  ['is late', () => new Promise(() => {}), 'period: no answer within 20 ms'],
  ['returns nothing', () => undefined, returned('undefined')],
  ['returns null', () => null, returned('undefined')],
  ['resolves with nothing', async () => undefined, returned('undefined')],
  ['returns a string', () => 'oct', returned('"oct"')],
  ['resolves with a number', async () => 7, returned('7')],
])('a function that %s', async (_, periodOf, fault) => {
  const window = calendar(periodOf as () => BillingPeriod);
  expect(await faultsOf({ window })).toEqual([fault]);
});

it('an item that fails', async () => {
  const algorithm = distinct(failure);
  expect(await faultsOf({ window: '1h', algorithm })).toEqual(['item: no subscription']);
});

it('a call without a period', () => {
  const faults: Fault[] = [];
  const options = { name: 'paid', limit: 9, window: calendar(failure) };
  const onFault = (fault: Fault) => faults.push(fault);
  createLimiter(options, { onFault, logger: false }).consume('ada');
  expect(faults).toMatchObject([
    { source: 'period', error: { message: returned('undefined').slice(8) } },
  ]);
});
