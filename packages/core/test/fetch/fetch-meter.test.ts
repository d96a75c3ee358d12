/** Costs that are known afterwards, behind plain fetch handlers. */

import { memoryStore, meter, partial, rateLimit, type UnitsEvent } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { expect, it } from 'vitest';
import { ask, laterStore } from './fetch-set-up.js';

function setUp(isPartial = false) {
  const rows = meter<number, Request>({
    reserve: () => 40,
    ...(isPartial && { onCut: partial<number>() }),
  });
  const cost = rows.cost((count) => count);
  const events: [UnitsEvent['kind'], number][] = [];
  const guard = fetchGuard(
    rateLimit<Request>({ name: 'rows', limit: 100, window: '1h', key: () => 'all', cost }),
    {
      store: memoryStore(),
      observers: [{ onUnits: ({ kind, units }) => events.push([kind, units]) }],
    },
  );
  return { rows, guard, events };
}

const chunk = (text: string) => new TextEncoder().encode(text);

it('a stream is settled at its end, by the request or the admission of its handler', async () => {
  const { rows, guard, events } = setUp();
  const handler = guard.wrap((request) => {
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk('row'));
        rows.of(request).settle(70);
        controller.close();
      },
    });
    return new Response(body);
  });
  const response = await handler(ask());
  expect(events).toEqual([['reserved', 40]]);
  expect(await response.text()).toBe('row');
  expect(events).toEqual([
    ['reserved', 40],
    ['added', 30],
  ]);
});

it.each([
  [false, 40],
  [true, 7],
])('a stream that is cancelled costs what it owes (partial: %s): %i', async (isPartial, units) => {
  const { rows, guard, events } = setUp(isPartial);
  const handler = guard.wrap((request) => {
    rows.of(request).add(7);
    return new Response(new ReadableStream({ pull: (it) => it.enqueue(chunk('row')) }));
  });
  const request = ask();
  const reader = (await handler(request)).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(events[1]).toEqual(['cut', units]);
  expect(rows.of(request).settle(9)).toBe(true);
  expect(rows.of(request).settle(10)).toBe(false);
  expect(events.at(-1)).toEqual(units > 9 ? ['returned', units - 9] : ['added', 9 - units]);
});

it('a waitUntil that throws fails no method of the usage, which is charged', async () => {
  const rows = meter<number, Request>({ reserve: () => 40 });
  const cost = rows.cost((count) => count);
  const limiter = rateLimit<Request>({
    name: 'rows',
    limit: 500,
    window: '1h',
    key: () => 'all',
    cost,
  });
  const guard = fetchGuard(limiter, {
    store: laterStore(),
    logger: false,
    waitUntil: () => {
      throw new Error('mine');
    },
  });
  const request = ask();
  await (await guard.wrap(() => new Response('rows'))(request)).text();
  await guard.close();
  expect(rows.of(request).settle(70)).toBe(true);
  await guard.close();
  expect(rows.of(request).snapshot()).toMatchObject({ rows: { charged: 70, estimated: false } });
});

it('a handler that throws, and one that never settles, cost their reservation', async () => {
  const { guard, events } = setUp();
  const handler = guard.wrap((request) => {
    if (request.url.endsWith('throws')) throw new Error('thrown');
    return new Response('silent');
  });
  await (await handler(ask())).text();
  await expect(handler(ask({ path: '/throws' }))).rejects.toThrow('thrown');
  expect(events).toEqual([
    ['reserved', 40],
    ['silent', 40],
    ['reserved', 40],
    ['silent', 40], // code that catches the error chooses the status
  ]);
});
