/** How the store in a Worker handles objects that throw, hang, are reset or are of another class. */

import type { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runWorker } from './workerd.js';

describe('a store whose object fails', () => {
  let miniflare: Miniflare;
  beforeAll(async () => {
    miniflare = await runWorker('workers/failing.js', ['Failing', 'Other']);
  });
  afterAll(() => miniflare.dispose());

  const get = async (path: string) =>
    (await fetch(new URL(path, await miniflare.ready))).json() as Promise<Record<string, unknown>>;
  const apply = (limiter: string, key = 'ada', binding = 'FAILING') =>
    get(`/apply/${binding}/${limiter}/${key}`);

  it.each([
    ['throws', 'SPW_STORE_UNAVAILABLE', 'object'],
    ['aborts', 'SPW_STORE_UNAVAILABLE', 'object'],
    ['garbles', 'SPW_STORE_ERROR', 'reply'],
  ])('%s: the call rejects with %s, kind %s', async (limiter, code, kind) => {
    expect(await apply(limiter)).toMatchObject({ code, kind });
  });

  it('is another class: the call says that the binding may be wrong', async () => {
    expect(await apply('api', 'ada', 'OTHER')).toEqual({
      code: 'SPW_STORE_ERROR',
      kind: 'reply',
      message: expect.stringContaining('does the binding name that class?'),
    });
  });

  it('stands under new_classes, and not under new_sqlite_classes: every call fails with the kind object', async () => {
    const other = await runWorker('workers/failing.js', ['Failing'], { useSQLite: false });
    onTestFinished(() => other.dispose());
    const reply = await fetch(new URL('/apply/FAILING/api/ada', await other.ready));
    expect(await reply.json()).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE', kind: 'object' });
  });

  it('was reset: the next call finds what was stored', async () => {
    const current = async () =>
      ((await apply('api', 'kept')) as unknown as { current: number }[])[0]?.current;
    expect(await current()).toBe(1);
    expect(await apply('aborts', 'kept')).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE' });
    expect(await current()).toBe(2);
  });

  it('has no room for one text of a group: none is written, and others are', async () => {
    const failure = { code: 'SPW_STORE_UNAVAILABLE', kind: 'object' };
    expect(await apply('api,full', 'roomy')).toMatchObject(failure);
    expect(await apply('api', 'roomy')).toMatchObject([{ current: 1 }]);
    expect(await apply('full,api', 'roomy')).toMatchObject(failure);
    expect(await apply('api', 'roomy')).toMatchObject([{ current: 2 }]);
  });

  it('failed once for each of 1,100 keys: one bad key does not stop the counting of others', async () => {
    for (let i = 0; i < 1_100; i += 100) {
      const keys = Array.from({ length: 100 }, (_, at) => `once${i + at}`);
      await Promise.all(keys.map((key) => get(`/consume/throws/${key}`)));
    }
    for (let i = 0; i < 10; i += 1) {
      expect(await get('/consume/throws/evil')).toMatchObject({ outcome: 'error' });
    }
    const outcomes: unknown[] = [];
    for (let i = 0; i < 11; i += 1) outcomes.push((await get('/consume/api/victim'))['outcome']);
    expect(outcomes).toEqual([...Array(9).fill('allowed'), 'denied', 'denied']);
  });

  it('hangs: who asks for its key waits for storeTimeout, and nobody else', async () => {
    for (let asked = 1; asked <= 6; asked += 1) {
      const stuck = await get('/consume/hangs/stuck');
      expect(stuck).toMatchObject({ outcome: 'error' });
      expect(stuck['ms']).toBeLessThan(2_000);
      const free = await get('/consume/api/free');
      expect(free).toMatchObject({ outcome: 'allowed', remaining: 9 - asked });
    }
  });
});
