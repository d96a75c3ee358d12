/** One `idempotency()` in two guards that a request passes. */

import { type GuardOptions, type IdempotencyOptions, idempotency, rateLimit } from '@spillway/core';
import { Gate } from '@spillway/core/adapter';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { Call, OnceStore } from './gate-set-up.js';

const headers = { 'idempotency-key': 'key-1' };
const enter = (gate: Gate<unknown>, call: Call, holder: object) =>
  gate.enter(request({ method: 'POST', headers }), call, holder);

describe('a request that meets its own claim in another guard', () => {
  const scope = () => 'ada';

  function twoGuards(options: Partial<IdempotencyOptions> = {}) {
    const store = remoteStore(new OnceStore());
    const own: GuardOptions = { store, logger: false };
    const limit = rateLimit({ name: 'two', limit: 2, window: '1h', key: 'all' });
    const outer = new Gate(idempotency({ scope, ...options }), own);
    const inner = new Gate([idempotency({ scope, ...options }), limit], own);
    const send = async () => {
      const holder = {};
      const calls = [new Call(), new Call()] as const;
      const passages = [await enter(outer, calls[0], holder)];
      if (passages[0] === 'pass') passages.push(await enter(inner, calls[1], holder));
      return { calls, passages };
    };
    return { store, send };
  }

  it.each(['0s', '5s'] as const)(
    'passes, and is charged by the limits there: it would wait for %s',
    async (wait) => {
      const { store, send } = twoGuards({ wait });
      const { calls, passages } = await send();
      expect(passages).toEqual(['pass', 'pass']);
      calls[0].end('done');
      await calls[1].close();
      await calls[0].close();
      const again = await send();
      expect(again.passages).toEqual(['answered']);
      expect(again.calls[0].text).toBe('done');
      expect(store.count('done')).toBe(1);
    },
  );

  it('is refused by the limits there, and leaves no claim behind', async () => {
    const { send } = twoGuards({ keepIf: () => false });
    for (const expected of ['pass', 'pass', 'rejected', 'rejected']) {
      const { calls, passages } = await send();
      expect(passages[1]).toBe(expected);
      calls[0].end('done', passages[1] === 'pass' ? 200 : calls[1].refusal?.status);
      await calls[1].close();
      await calls[0].close();
    }
  });
});
