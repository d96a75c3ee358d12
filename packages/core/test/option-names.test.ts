/** An unknown option is rejected where it is passed, and the message suggests the name that was meant. */

import * as core from '@spillway/core';
import { checkGateOptions, checkOptions, type NamesOf } from '@spillway/core/adapter';
import { fetchGuard } from '@spillway/core/fetch';
import { eventLoopSignal, eventLoopWaitSignal, nodeGuard } from '@spillway/core/node';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import { describe, expect, it } from 'vitest';

const rate = { limit: 5, window: '1m' } as const;
const any = (value: object) => value as never;
const { rateLimit, createLimiter, createLimiters } = core;
const signal: core.Signal = { name: 'busy', read: () => undefined };

/** Functions with options, called with an unknown one, and the names that messages give them. */
const FUNCTIONS: readonly [string, (more: object) => unknown][] = [
  ['rateLimit()', (more) => rateLimit(any({ ...rate, ...more }))],
  ['concurrencyLimit()', (more) => core.concurrencyLimit(any({ limit: 5, ...more }))],
  ['fleetShedder()', (more) => core.fleetShedder(any({ name: 'f', capacity: 5, ...more }))],
  [
    'workerShedder()',
    (more) => core.workerShedder(any({ name: 'w', signal, brake: false, ...more })),
  ],
  [
    'ladder',
    (more) => core.workerShedder(any({ name: 'w', ladder: { signal, ...more }, brake: false })),
  ],
  ['priority', (more) => core.fleetShedder(any({ name: 'f', capacity: 5, priority: more }))],
  ['the guard', (more) => core.createGuard(rateLimit(rate), any(more))],
  ['the guard', (more) => nodeGuard(rateLimit(rate), any(more))],
  ['the guard', (more) => fetchGuard(rateLimit(rate), any(more))],
  ['the guard', (more) => checkGateOptions(any(more), {})],
  ['breaker', (more) => core.createGuard(rateLimit(rate), any({ breaker: more }))],
  ['validate', (more) => createLimiter(rate, any({ validate: more }))],
  ['createLimiter()', (more) => createLimiter(any({ ...rate, ...more }))],
  ['the second argument of createLimiter()', (more) => createLimiter(rate, any(more))],
  ['limit "a" of createLimiters()', (more) => createLimiters({ a: any({ ...rate, ...more }) })],
  ['the second argument of createLimiters()', (more) => createLimiters({ a: rate }, any(more))],
  ['createShaper()', (more) => createShaper(any({ ...rate, ...more }))],
  ['the second argument of createShaper()', (more) => createShaper(rate, any(more))],
  ['pacedFetch()', (more) => pacedFetch(createShaper(rate), any(more))],
  ['a call', (more) => createLimiter(rate).consume('ada', any(more))],
  ['a call', (more) => createLimiter(rate).record('ada', any(more))],
  ['a call', (more) => createLimiters({ a: rate }).consume({ a: 'ada' }, any(more))],
  ['idempotency()', (more) => core.idempotency(any({ scope: () => 'ada', ...more }))],
  ['memoryStore()', (more) => core.memoryStore(any(more))],
  ['memoryControl()', (more) => core.memoryControl(any(more))],
  ['decisionLog()', (more) => core.decisionLog(any({ write: () => undefined, ...more }))],
  ['the signal', (more) => eventLoopWaitSignal(any(more))],
  ['the signal', (more) => eventLoopSignal(any(more))],
];

describe.each(FUNCTIONS)('%s', (of, make) => {
  it('refuses an option that it does not have', () => {
    const refused = expect.objectContaining({
      code: 'SPW_OPTION_UNKNOWN',
      message: expect.stringMatching(
        /^.+ has no option "zzzzzz": it has .+ \(SPW_OPTION_UNKNOWN\)$/,
      ),
    });
    expect(() => make({ zzzzzz: 1 })).toThrow(refused as Error);
    expect(() => make({ zzzzzz: 1 })).toThrow(`${of} has no option`);
  });

  it('takes one that is undefined for left out', () => {
    expect(() => make({ zzzzzz: undefined })).not.toThrow();
  });
});

it('a job of a shaper refuses one too', async () => {
  const shaper = createShaper(rate);
  const work = () => undefined;
  await expect(shaper.schedule('a', work, any({ prority: 5 }))).rejects.toThrow(
    'a job has no option "prority": did you mean "priority"?',
  );
});

describe('what was meant', () => {
  const message = (make: () => unknown): string => {
    try {
      make();
    } catch (error) {
      return (error as Error).message.replace(' (SPW_OPTION_UNKNOWN)', '');
    }
    return 'nothing';
  };
  const ofRate = (more: object) => message(() => rateLimit(any({ ...rate, ...more })));

  it.each([
    ['keyy', 'did you mean "key"?'],
    ['Cost', 'did you mean "cost"?'],
    ['algoritm', 'did you mean "algorithm"?'],
    ['refundif', 'did you mean "refundIf"?'],
    ['localshares', 'did you mean "localShare"?'],
    ['brust', 'did you mean "burst"?'],
  ])('is the nearest name: %s', (name, mend) => {
    expect(ofRate({ [name]: 1 })).toBe(`rateLimit() has no option "${name}": ${mend}`);
  });

  it.each(['if', 'zzz', 'x'.repeat(100), '__proto', 'constructor', 'toString'])(
    'is not guessed where nothing is near: %s',
    (name) => {
      const shown = name.slice(0, 60);
      expect(ofRate({ [name]: 1 })).toBe(
        `rateLimit() has no option "${shown}": it has algorithm, anchor, burst, cost, key, limit, localShare, ` +
          'mode, name, onStoreError, overage, penalty, plan, refundIf, share, status, window',
      );
    },
  );

  it('is in the other object of options', () => {
    const store = core.memoryStore();
    expect(message(() => createLimiter(any({ ...rate, store })))).toBe(
      'createLimiter() has no option "store": "store" is an option of its second argument',
    );
    expect(message(() => createLimiter(rate, any({ window: '1m' })))).toBe(
      'the second argument of createLimiter() has no option "window": "window" is an option of its first argument',
    );
  });

  it.each<[string, () => unknown]>([
    [
      '"plan" is an option of the limiter, as in rateLimit()',
      () => createLimiter(any({ ...rate, plan: () => undefined })),
    ],
    [
      '"priority" is an option of shedders, and of schedule()',
      () => rateLimit(any({ ...rate, priority: 5 })),
    ],
  ])('belongs elsewhere: %s', (mend, make) => {
    expect(message(make)).toContain(mend);
  });
});

it('is for functions of others too', () => {
  interface Options {
    readonly colour?: string;
  }
  const names: NamesOf<Options> = { colour: 1 };
  const paint = (options: Options) => checkOptions(options, 'paint()', names);
  expect(() => paint({ colour: 'red' })).not.toThrow();
  expect(() => paint(any({ color: 'red' }))).toThrow('did you mean "colour"?');
});
