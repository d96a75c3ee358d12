/** Costs that are known afterwards: the units that are charged at the end of the response, however it ends. */

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { type Meter, memoryStore, meter, partial, type UnitsEvent } from '@spillway/core';
import { expect, it } from 'vitest';
import { until } from '../index.js';
import type { Driver, Handler } from './driver.js';

export function meters<Guard>(driver: Driver<Guard>): void {
  it('settles what a handler says, by the object that it has', async () => {
    const { usage, events, get } = await serve(driver, ({ holder }, rows) => {
      const spent = rows.of(holder);
      expect(spent.settle(12)).toBe(true);
      return { json: spent.snapshot() };
    });
    expect(usage).toBeDefined();
    expect(JSON.parse((await get()).body)).toMatchObject({
      rows: { requested: 40, charged: 12, remaining: 88, estimated: true },
    });
    await until(() => events.length === 2);
    expect(events).toEqual([units('reserved', 40), units('returned', 28)]);
  });

  it('settles a stream at its end, and not when its handler returns', async () => {
    const stream = new PassThrough();
    const { events, get } = await serve(driver, ({ holder }, rows) => {
      stream.on('end', () => rows.of(holder).settle(70));
      return { body: stream };
    });
    stream.write('one ');
    const reply = get();
    await until(() => stream.readableLength === 0);
    await new Promise(setImmediate);
    expect(events).toEqual([units('reserved', 40)]);
    stream.end('two');
    expect((await reply).body).toBe('one two');
    await until(() => events.length === 2);
    expect(events[1]).toEqual(units('added', 30));
  });

  it('keeps the reservation of a request that is never settled, or whose handler throws', async () => {
    const { events, get } = await serve(driver, ({ path }) => {
      if (path.includes('throws')) throw new Error('thrown');
      return { body: 'silent' };
    });
    await get();
    await until(() => events.length === 2);
    await get('/throws');
    await until(() => events.length === 4);
    expect(events.slice(1)).toEqual([units('silent', 40), units('reserved', 40), units('cut', 40)]);
  });

  it('does nothing for a request that is rejected, or skipped', async () => {
    const { events, get } = await serve(
      driver,
      ({ holder }, rows) => {
        rows.of(holder).settle(100);
        return { body: 'hello' };
      },
      ({ path }) => path.includes('skipped'),
    );
    expect((await get('/skipped')).status).toBe(200);
    expect((await get()).status).toBe(200);
    await until(() => events.length === 2);
    expect((await get()).status).toBe(429);
    expect((await get('/skipped')).status).toBe(200);
    expect(events).toEqual([units('reserved', 40), units('added', 60)]);
  });
}

/** Tests for adapters whose clients can go away. */
export function metersCut<Guard>(driver: Driver<Guard>): void {
  it('charges what was sent to a client that goes away in the middle of a stream', async () => {
    const stream = new PassThrough().on('error', () => undefined);
    stream.write('begun');
    let settleLate = (): boolean => false;
    const { events, open } = await serve(
      driver,
      ({ holder }, rows) => {
        const spent = rows.of(holder);
        spent.add(7);
        settleLate = () => spent.settle(9);
        return { body: stream };
      },
      undefined,
      meter({ reserve: () => 40, onCut: partial() }),
    );
    const client = open().on('error', () => undefined);
    client.end();
    const [response] = await once(client, 'response');
    response.on('error', () => undefined);
    client.destroy();
    await until(() => events.length === 3);
    expect(events).toEqual([units('reserved', 40), units('cut', 7), units('returned', 33)]);
    expect(settleLate()).toBe(true);
    expect(settleLate()).toBe(false);
    expect(events[3]).toEqual(units('added', 2));
  });
}

function units(kind: UnitsEvent['kind'], count: number): UnitsEvent {
  return { limiter: 'rows', kind, units: count };
}

async function serve<Guard>(
  driver: Driver<Guard>,
  handle: (visit: Parameters<Handler>[0], rows: Meter<number>) => ReturnType<Handler>,
  skip?: (request: { readonly path: string }) => boolean,
  usage: Meter<number> = meter({ reserve: () => 40 }),
) {
  const events: UnitsEvent[] = [];
  const limiter = driver.rateLimit({
    name: 'rows',
    limit: 100,
    window: '1h',
    key: () => 'ada',
    cost: usage.cost((rows) => rows),
  });
  const observers = [{ onUnits: (event: UnitsEvent) => events.push(event) }];
  const guard = driver.guard(limiter, { store: memoryStore(), observers, ...(skip && { skip }) });
  const service = await driver.serve({
    guards: [guard],
    routes: [{ path: '*', handle: (visit) => handle(visit, usage) }],
    onError: ({ message }) => ({ status: 503, body: message }),
  });
  return { ...service, events, usage };
}
