/** A tally: what is counted under which labels. */

import { concurrencyLimit, rateLimit, Tally } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

describe('a tally', () => {
  it('keeps apart what was refused for different reasons', () => {
    const tally = new Tally();
    const cost = ({ path }: { path: string }) => (path === '/big' ? 3 : 1);
    const { admit } = setUp(rateLimit({ name: 'two', limit: 2, window: '1h', cost }), {
      observers: [tally],
    });
    for (const path of ['/big', '/', '/', '/', '/big']) admit({ path });
    expect(tally.decisions()).toEqual([
      count({ outcome: 'denied', reason: 'never' }, 2),
      count({ outcome: 'allowed', reason: '' }, 2),
      count({ outcome: 'denied', reason: 'rate' }, 1),
    ]);
  });

  it('counts faults by where they come from', () => {
    const tally = new Tally();
    const broken = () => {
      throw new Error('mine');
    };
    const limiter = rateLimit({ name: 'two', limit: 2, window: '1h', key: broken, cost: broken });
    const { admit } = setUp(limiter, { observers: [tally] });
    admit();
    admit();
    expect(tally.faults()).toEqual([
      { labels: { limiter: 'two', source: 'key' }, value: 2 },
      { labels: { limiter: 'two', source: 'cost' }, value: 2 },
    ]);
  });

  it('reads the permits that are held when it is asked, each guard once', () => {
    const tally = new Tally();
    const { guard, admit } = setUp(concurrencyLimit({ name: 'at-once', limit: 2 }));
    expect(tally.permitsInProgress).toBeUndefined();
    tally.watch({ guards: [guard] });
    tally.watch({ guards: [guard] });
    const admission = admit();
    admit();
    expect(tally.permitsInProgress).toBe(2);
    admission.release({ status: 200 });
    expect(tally.permitsInProgress).toBe(1);
  });
});

function count(labels: { outcome: string; reason: string }, value: number) {
  return { labels: { limiter: 'two', priority: '', ...labels }, value };
}
