/** User code runs in the async context of its own request, or in none; never in that of another request. */

import { AsyncLocalStorage } from 'node:async_hooks';
import http from 'node:http';
import {
  concurrencyLimit,
  idempotency,
  type LimitRequest,
  memoryStore,
  type Store,
} from '@spillway/core';
import { rateLimit, spillway } from '@spillway/express';
import { createShaper } from '@spillway/outgoing';
import { redisStore } from '@spillway/redis';
import Express, { type Request } from 'express';
import { Redis } from 'ioredis';
import { delay } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished } from 'vitest';

const users = new AsyncLocalStorage<string>();

/** Called while the request waits for the guard, or by its handler. */
const OWN = 'skip plan key cost scope onDecision observer onFault onRejected work'.split(' ');
/** Called when the response has closed. */
const OWN_OR_NONE = ['refundIf'];

async function redis(): Promise<Store> {
  const server = await RedisServer.up();
  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  return redisStore(client);
}

const STORES: Readonly<Record<string, () => Promise<Store> | Store>> = {
  memory: () => memoryStore(),
  ...(redisProgram === null ? {} : { Redis: redis }),
};

describe.each(Object.entries(STORES))('with a store in %s', (_, make) => {
  it('100 users at once, on few connections', async () => {
    const seen: (readonly [callback: string, of: string, context: string | undefined])[] = [];
    const note = (callback: string, { raw }: Pick<LimitRequest<Request>, 'raw'>) =>
      seen.push([callback, String(raw.query['user']), users.getStore()]);
    const store = await make();
    const shaper = createShaper(
      { name: 'calls', limit: 10_000, window: '1s', maxWait: '1m' },
      { store, localShare: 1, storeTimeout: '10s' },
    );
    const app = Express();
    app.use((req, _res, next) => users.run(String(req.query['user']), next));
    app.use(
      spillway(
        [
          rateLimit({
            name: 'api',
            limit: 5,
            plan: (request) => {
              note('plan', request);
              return { limit: 2 };
            },
            window: '1m',
            key: (request) => {
              note('key', request);
              return String(request.raw.query['user']);
            },
            cost: (request) => {
              note('cost', request);
              if (request.raw.query['user'] === 'u7') throw new Error('a mistake');
              return 1;
            },
            refundIf: (request) => {
              note('refundIf', request);
              return false;
            },
          }),
          concurrencyLimit({ name: 'now', limit: 1_000 }) as never,
          idempotency<Request>({
            name: 'once',
            scope: (request) => {
              note('scope', request);
              return 'ada';
            },
          }),
        ],
        {
          store,
          storeTimeout: '10s', // on a busy machine too, each is answered by the store
          logger: false,
          skip: (request: LimitRequest<Request>) => {
            note('skip', request);
            return false;
          },
          onDecision: (_: unknown, _key: unknown, request: LimitRequest<Request>) =>
            note('onDecision', request),
          onFault: ({ request }: { request?: LimitRequest<Request> }) =>
            seen.push(['onFault', 'u7', users.getStore()]) && request,
          onRejected: (_: unknown, req: Request, res: Express.Response) => {
            note('onRejected', { raw: req });
            res.send('no');
          },
          observers: [
            {
              onDecision: (_: unknown, _key: unknown, request: never) => note('observer', request),
            },
          ],
        } as never,
      ),
    );
    app.post('/', async (req, res) => {
      await delay(Math.random() * 5);
      await shaper.schedule('partner', () => note('work', { raw: req }));
      res.send('done');
    });
    const { get } = await serveListener(app);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 10 });
    onTestFinished(() => agent.destroy());
    const asked = Array.from({ length: 300 }, (_, i) => {
      const headers = { 'Idempotency-Key': `"key-${i}"` };
      return get(`/?user=u${i % 100}`, { method: 'POST', agent, headers });
    });
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    await delay(20);
    const called = new Set(seen.map(([callback]) => callback));
    expect(called).toEqual(new Set([...OWN, ...OWN_OR_NONE]));
    const wrong = seen.filter(([callback, of, context]) => {
      if (context === of) return false;
      return OWN.includes(callback) || context !== undefined;
    });
    expect(wrong).toEqual([]);
    await shaper.close();
  });
});
