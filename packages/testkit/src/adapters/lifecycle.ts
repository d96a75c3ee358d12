/** Every admitted request is released exactly once, however its response ends. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { memoryStore, type RequestOutcome, type ResponseEnd } from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { expect, it } from 'vitest';
import { until } from '../index.js';
import { SlowStore } from '../stores.js';
import { type Driver, HELLO, latch, type MiddlewareDriver, noting } from './driver.js';

export function lifecycle<Guard>(driver: Driver<Guard>): void {
  it('lets a stream through as it is written, and releases at its end', async () => {
    const { outcomes, guard } = noting(driver);
    const stream = new PassThrough();
    const { get } = await driver.serve({
      guards: [guard],
      routes: [{ path: '/', handle: () => ({ body: stream }) }],
    });
    stream.write('one ');
    const reply = get();
    await until(() => stream.readableLength === 0); // the first part was sent
    await new Promise(setImmediate);
    expect(outcomes).toEqual([]);
    stream.end('two');
    expect((await reply).body).toBe('one two');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('releases when a handler throws', async () => {
    const { outcomes, guard } = noting(driver);
    const { get } = await driver.serve({
      guards: [guard],
      routes: [
        {
          path: '/now',
          handle: () => {
            throw new Error('thrown');
          },
        },
        { path: '/later', handle: () => Promise.reject(new Error('rejected')) },
      ],
      onError: ({ message }) => ({ status: 503, body: message }),
    });
    expect(await get('/now')).toMatchObject({ status: 503, body: 'thrown' });
    expect(await get('/later')).toMatchObject({ status: 503, body: 'rejected' });
    await until(() => outcomes.length === 2);
    expect(outcomes).toEqual([
      { status: 503, aborted: false },
      { status: 503, aborted: false },
    ]);
  });

  it('counts failures only, where the app says what a success is: an answer below 400', async () => {
    const limiter = driver.rateLimit({
      limit: 2,
      window: '1h',
      refundIf: (_, { status = 500, aborted }) => status < 400 && !aborted,
    });
    const { get } = await driver.serve({
      guards: [driver.guard(limiter)],
      routes: [{ path: '*', handle: ({ path }) => ({ status: Number(path.slice(1)) }) }],
    });
    const statuses: number[] = [];
    for (const path of ['/200', '/204', '/302', '/401', '/200', '/500', '/401', '/200']) {
      statuses.push((await get(path)).status);
      await new Promise(setImmediate);
    }
    expect(statuses).toEqual([200, 204, 302, 401, 200, 500, 429, 429]);
  });

  it('holds a permit while a handler runs, and refuses meanwhile', async () => {
    const limiter = driver.concurrencyLimit({ name: 'alone', limit: 1 });
    const finish = latch();
    let arrived = 0;
    const handle = async () => {
      arrived += 1;
      await finish.opened;
      return { body: 'done' };
    };
    const { get } = await driver.serve({
      guards: [driver.guard(limiter)],
      routes: [{ path: '/', handle }],
    });
    const first = get();
    await until(() => arrived === 1);
    const { status, body } = await get();
    expect(status).toBe(429);
    expect(JSON.parse(body)['violated-policies']).toEqual(['alone']);
    finish.open();
    expect(await first).toMatchObject({ status: 200, body: 'done' });
    await until(async () => (await get()).status === 200);
  });
}

/** Tests for adapters whose requests come over a connection, which a client can close. */
export function departures<Guard>(driver: Driver<Guard>): void {
  it('releases once when the client goes away before the answer, which then has no status', async () => {
    const { outcomes, guard } = noting(driver);
    const arrived = latch();
    const finish = latch();
    const handle = async () => {
      arrived.open();
      await finish.opened;
      return { body: 'too late' };
    };
    const { open } = await driver.serve({ guards: [guard], routes: [{ path: '/', handle }] });
    const client = open().on('error', () => undefined);
    client.end();
    await arrived.opened;
    client.destroy();
    await until(() => outcomes.length > 0);
    finish.open();
    await new Promise(setImmediate);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('releases when the client goes away in the middle of a stream, which is destroyed', async () => {
    const { outcomes, guard } = noting(driver);
    const stream = new PassThrough().on('error', () => undefined);
    stream.write('begun');
    const { open } = await driver.serve({
      guards: [guard],
      routes: [{ path: '/', handle: () => ({ body: stream }) }],
    });
    const client = open().on('error', () => undefined);
    client.end();
    const [response] = await once(client, 'response');
    response.on('error', () => undefined);
    expect(outcomes).toEqual([]);
    client.destroy();
    await until(() => outcomes.length > 0 && stream.destroyed);
    expect(outcomes).toEqual([{ status: 200, aborted: true }]);
  });

  it('gives back, and runs no handler, when the client has gone away while the store was asked', async () => {
    const store = remoteStore(new SlowStore());
    const outcomes: ResponseEnd[] = [];
    const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome) => {
      outcomes.push(end);
      return end.aborted === true;
    };
    const limiter = driver.rateLimit({ name: 'gone', limit: 1, window: '1h', refundIf });
    let handled = 0;
    let closed = false;
    const handle = () => {
      handled += 1;
      return {};
    };
    const { open } = await driver.serve({
      before: (res) => {
        res.once('close', () => {
          closed = true;
        });
      },
      guards: [driver.guard(limiter, { store, storeTimeout: '10s' })],
      routes: [{ path: '*', handle }],
    });
    const client = open().on('error', () => undefined);
    client.end();
    await until(() => store.calls.length === 1);
    client.destroy();
    await until(() => closed);
    store.answer();
    await until(() => store.calls.length === 2);
    expect({ outcomes, handled }).toEqual({
      outcomes: [{ aborted: true, unhandled: true }],
      handled: 0,
    });
    expect(store.calls[1]).toMatchObject([{ op: 'put', limiter: 'gone', cost: 1 }]);
  });
}

/** Tests for middleware of node:http, where handlers can reach Node's response. */
export function responses(driver: MiddlewareDriver): void {
  it('releases when the handler destroys the response', async () => {
    const { outcomes, guard } = noting(driver);
    const by = (res: ServerResponse) => void res.destroy();
    const { get } = await driver.serve({
      guards: [guard],
      routes: [{ path: '/', handle: () => ({ by }) }],
    });
    await expect(get()).rejects.toThrow('socket hang up');
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ aborted: true }]);
  });

  it('releases when the handler answers without the framework', async () => {
    const { outcomes, guard } = noting(driver);
    const by = (res: ServerResponse) => {
      res.statusCode = 200;
      setImmediate(() => res.end('by hand'));
    };
    const { get } = await driver.serve({
      guards: [guard],
      routes: [{ path: '/', handle: () => ({ by }) }],
    });
    expect(await get()).toMatchObject({ status: 200, body: 'by hand' });
    await until(() => outcomes.length > 0);
    expect(outcomes).toEqual([{ status: 200, aborted: false }]);
  });

  it('does not watch a response when there is nothing to give back', async () => {
    const listeners: number[] = [];
    const count = (res: ServerResponse) => void listeners.push(res.listenerCount('close'));
    const limiter = driver.rateLimit({ limit: 5, window: '1h' });
    const { get } = await driver.serve({
      before: count,
      guards: [driver.guard(limiter)],
      routes: [
        {
          path: '/',
          handle: () => ({
            by: (res) => {
              count(res);
              res.end();
            },
          }),
        },
      ],
    });
    await get();
    expect(listeners).toHaveLength(2);
    expect(listeners[1]).toBe(listeners[0]);
  });
}

/** Tests for adapters in which each guard has its own `close()`. */
export function closing(driver: MiddlewareDriver): void {
  it('gives the permits of requests in progress back when it is closed', async () => {
    const store = memoryStore();
    const limiter = () => driver.concurrencyLimit({ name: 'one', limit: 1 });
    const guard = driver.guard(limiter(), { store });
    const other = driver.guard(limiter(), { store });
    const arrived = latch();
    const finish = latch();
    const handle = async () => {
      arrived.open();
      await finish.opened;
      return { body: 'done' };
    };
    const { get } = await driver.serve({
      routes: [
        { path: '/hold', guards: [guard], handle },
        { ...HELLO, path: '/other', guards: [other] },
      ],
    });
    const held = get('/hold');
    await arrived.opened;
    expect((await get('/other')).status).toBe(429);
    await guard.close();
    expect((await get('/other')).status).toBe(200);
    finish.open();
    expect((await held).body).toBe('done');
  });
}
