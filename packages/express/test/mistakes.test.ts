/** An app may be put together wrongly: no request fails because of it, and the mistake is reported. */

import { type Mode, rateLimit, type SpillwayOptions, spillway } from '@spillway/express';
import type { Response } from 'express';
import { mistakes } from 'spillway-testkit/adapters';
import { describe, expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

/** A logger that keeps its lines. */
function noting() {
  const lines: string[] = [];
  return { lines, logger: { warn: (line: string) => void lines.push(line) } };
}

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  mistakes(driver);
});

describe.each(EXPRESS)('Express $major', ({ express }) => {
  it.each<[string, { mode?: Mode; guard?: SpillwayOptions; expected: number[] }]>([
    ['enforced', { expected: [200, 429] }],
    ['in shadow', { mode: 'shadow', expected: [200, 200] }],
    ['off', { mode: 'off', expected: [200, 200] }],
    ['in a guard that is off', { guard: { mode: 'off' }, expected: [200, 200] }],
    ['skipped', { guard: { skip: () => true }, expected: [200, 200] }],
  ])('serves with trust proxy true, where a limit is %s', async (_, { mode, guard, expected }) => {
    const { lines, logger } = noting();
    const app = express();
    app.set('trust proxy', true);
    const limiter = rateLimit({ limit: 1, window: '1h', mode: mode ?? 'enforce' });
    app.use(spillway(limiter, { ...guard, logger }));
    app.use((_req, res) => void res.end());
    const { get } = await serve(app);
    const statuses = [];
    // No claim is believed: both addresses come from the socket.
    for (const claim of ['1.1.1.1', '2.2.2.2']) {
      statuses.push((await get('/', { headers: { 'x-forwarded-for': claim } })).status);
    }
    expect(statuses).toEqual(expected);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("app.set('trust proxy') must not trust everyone");
    expect(lines[0]).toContain('SPW_TRUST_PROXY_UNSAFE');
    expect(lines[0]).toContain('docs/errors.md');
  });

  it.each<[unknown, string]>([
    [true, 'SPW_TRUST_PROXY_UNSAFE'],
    [0.5, 'SPW_TRUST_PROXY_INVALID'],
    [-1, 'SPW_TRUST_PROXY_INVALID'],
    ['1', 'SPW_CIDR_INVALID'],
  ])('trusts nobody with trust proxy %j, until it is changed', async (setting, code) => {
    const { lines, logger } = noting();
    const seen: (string | undefined)[] = [];
    const app = express();
    app.set('trust proxy', setting);
    const key = ({ clientIp }: { clientIp: string | undefined }) => void seen.push(clientIp);
    app.use(
      spillway(rateLimit({ limit: 9, window: '1h', key: key as () => undefined }), { logger }),
    );
    const { get } = await serve(app);
    const ask = () => get('/', { headers: { 'x-forwarded-for': '192.0.2.1' } });
    expect((await ask()).status).toBe(404);
    app.set('trust proxy', 1);
    expect((await ask()).status).toBe(404);
    expect(seen).toEqual(['127.0.0.1', '192.0.2.1']);
    expect(lines).toMatchObject([expect.stringContaining(code)]);
  });

  it('serves though its logger fails, and says nothing where that is off', async () => {
    const logger = {
      warn: () => {
        throw new Error('mine');
      },
    };
    for (const options of [{ logger }, { logger: false }] as const) {
      const app = express();
      app.set('trust proxy', true);
      app.use(spillway(rateLimit({ limit: 1, window: '1h' }), options));
      expect((await (await serve(app)).get()).status).toBe(404);
    }
  });

  it('counts a request once though its guard is mounted twice, and says so', async () => {
    const { lines, logger } = noting();
    const limiter = rateLimit({ name: 'same', limit: 3, window: '1h' });
    const guard = spillway(limiter, { logger });
    const router = express.Router();
    router.get('/twice', guard, (_req, res) => void res.end());
    const inner = express();
    inner.get('/app', guard, (_req, res) => void res.end());
    const app = express();
    app.use(guard);
    app.use('/nested', router);
    app.use(inner);
    const { get } = await serve(app);
    for (const [path, left] of [
      ['/nested/twice', 2],
      ['/app', 1],
      ['/nested/twice', 0],
    ] as const) {
      const { status, headers } = await get(path);
      expect(status).toBe(200);
      expect(headers['ratelimit']).toMatch(new RegExp(`^"same";r=${left};t=\\d+$`));
    }
    expect((await get('/app')).status).toBe(429);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('the guard of same is mounted twice');
    expect(lines[0]).toContain('SPW_REGISTERED_TWICE');
  });
});

describe.each(EXPRESS)('an own answer in Express $major', ({ express }) => {
  it('may return what it likes, as handlers of Express do', async () => {
    const answers = [
      (res: Response) => res.json({ sorry: 1 }),
      (res: Response) => res.end('sorry') && 7,
      async (res: Response) => res.send('later'),
    ];
    for (const answer of answers) {
      const app = express();
      const onRejected: SpillwayOptions['onRejected'] = (_admission, _req, res) => answer(res);
      app.use(spillway(rateLimit({ limit: 1, window: '1h', cost: () => 2 }), { onRejected }));
      const agent = new (await import('node:http')).Agent({ keepAlive: true, maxSockets: 1 });
      const { get } = await serve(app);
      const ports = new Set<number | undefined>();
      for (let i = 0; i < 3; i += 1) {
        expect((await get('/', { agent })).status).toBe(429);
        for (const sockets of Object.values(agent.freeSockets)) {
          for (const socket of sockets ?? []) ports.add(socket.localPort);
        }
      }
      expect(ports.size).toBeLessThanOrEqual(1); // no connection was reset
      agent.destroy();
    }
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('that %s is a 500, as any other handler, not a 429', async (_, onRejected) => {
    const app = express();
    app.set('env', 'test'); // Express' own handler prints nothing
    app.use(spillway(rateLimit({ limit: 1, window: '1h', cost: () => 2 }), { onRejected }));
    const { get } = await serve(app);
    const { status, body } = await get();
    expect(status).toBe(500);
    expect(body).toContain('Error: mine');
  });
});
