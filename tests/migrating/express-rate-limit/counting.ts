/** What express-rate-limit counts, for which caller, and for how long. */

import type { NextFunction, Request, Response } from 'express';
import { type Case, differs, same } from '../cases.js';
import { ask, passes, statuses } from '../world.js';
import { type Limiter, type Subject, serve } from './subject.js';

const MINUTE = 60_000;
const two = { limit: 2, windowMs: MINUTE } as const;
const other = { from: '203.0.113.2' } as const;

const serveWith = ({ handler }: Limiter) => serve(handler);

export const counting: readonly Case<Subject>[] = [
  same('lets `limit` requests of a client pass and refuses the next', [200, 200, 429], async (on) =>
    statuses(await serveWith(on.limiter(two)), 3),
  ),
  same('without options: five requests a minute', [200, 200, 200, 200, 200, 429], async (on) =>
    statuses(await serveWith(on.limiter()), 6),
  ),
  same('understands the old name `max`', [200, 429], async (on) =>
    statuses(await serveWith(on.limiter({ max: 1 })), 2),
  ),
  same('counts each address by itself', [200, 200, 429, 200], async (on) => {
    const first = {};
    return statuses(await serveWith(on.limiter(two)), [first, first, first, other]);
  }),
  same('counts an IPv4 address that is written as IPv6 as that address', [200, 429], async (on) => {
    const service = await serveWith(on.limiter({ limit: 1 }));
    return statuses(service, [{ from: '203.0.113.9' }, { from: '::ffff:203.0.113.9' }]);
  }),
  same('counts all addresses of an IPv6 /56 as one client', [200, 429, 200], async (on) => {
    const service = await serveWith(on.limiter({ limit: 1 }));
    const addresses = ['2001:db8:0:1::1', '2001:db8:0:2::1', '2001:db8:0:100::1'];
    return statuses(
      service,
      addresses.map((from) => ({ from })),
    );
  }),
  same('counts by another prefix with `ipv6Subnet`', [200, 200, 429], async (on) => {
    const service = await serveWith(on.limiter({ limit: 1, ipv6Subnet: 64 }));
    const addresses = ['2001:db8:0:1::1', '2001:db8:0:2::1', '2001:db8:0:2::2'];
    return statuses(
      service,
      addresses.map((from) => ({ from })),
    );
  }),
  differs(
    'asks a function for `ipv6Subnet` at each request',
    {
      theirs: [200, 429],
      ours: 'SPW_OPTION_INVALID',
      because: '`ipv6Prefix` is a number. A `key` that shortens `clientIp` itself can choose.',
    },
    async (on) => {
      try {
        const service = await serveWith(on.limiter({ limit: 1, ipv6Subnet: () => 48 }));
        return await statuses(service, [
          { from: '2001:db8:0:1::1' },
          { from: '2001:db8:0:ff01::1' },
        ]);
      } catch (error) {
        return (error as { code?: string }).code;
      }
    },
  ),
  same('admits again when the window is over', [200, 200, 429, 200], async (on) => {
    const service = await serveWith(on.limiter(two));
    const before = await statuses(service, 3);
    await passes(MINUTE);
    return [...before, ...(await statuses(service, 1))];
  }),
  same('counts anew in each window', [200, 200, 429, 200, 200, 429], async (on) => {
    const service = await serveWith(on.limiter(two));
    const before = await statuses(service, 3);
    await passes(MINUTE);
    return [...before, ...(await statuses(service, 3))];
  }),
  same('begins the window with the first request of a client', [200, 429, 200], async (on) => {
    await passes(20_000);
    const service = await serveWith(on.limiter({ ...two, limit: 1 }));
    const seen = await statuses(service, 1);
    await passes(59_000);
    seen.push(...(await statuses(service, 1)));
    await passes(1_000);
    return [...seen, ...(await statuses(service, 1))];
  }),
  differs(
    'keeps the end of a window though all of it was given back',
    {
      theirs: [200, 401, 401],
      ours: [200, 401, 429],
      because: 'A key whose units are all given back is as if it had never been used.',
    },
    async (on) => {
      const limiter = on.limiter({ ...two, limit: 1, skipSuccessfulRequests: true });
      const service = await serveWith(limiter);
      const seen = await statuses(service, 1);
      await passes(30_000);
      seen.push(...(await statuses(service, [{ path: '/?status=401' }])));
      await passes(30_000);
      return [...seen, ...(await statuses(service, [{ path: '/?status=401' }]))];
    },
  ),
  same('counts what `keyGenerator` says', [200, 429, 200], async (on) => {
    const keyGenerator = (req: Request) => String(req.query['user']);
    const service = await serveWith(on.limiter({ limit: 1, keyGenerator }));
    return statuses(service, [{ path: '/?user=a' }, { path: '/?user=a' }, { path: '/?user=b' }]);
  }),
  same('waits for a `keyGenerator` that is async', [200, 429, 200], async (on) => {
    const keyGenerator = async (req: Request) => String(req.query['user']);
    const service = await serveWith(on.limiter({ limit: 1, keyGenerator }));
    return statuses(service, [{ path: '/?user=a' }, { path: '/?user=a' }, { path: '/?user=b' }]);
  }),
  same('does not count what `skip` names', [200, 200, 200, 429], async (on) => {
    const skip = (req: Request) => req.path === '/health';
    const service = await serveWith(on.limiter({ limit: 1, skip }));
    return statuses(service, [{ path: '/health' }, { path: '/health' }, {}, {}]);
  }),
  same('waits for a `skip` that is async', [200, 200, 429], async (on) => {
    const skip = async (req: Request) => req.path === '/health';
    const service = await serveWith(on.limiter({ limit: 1, skip }));
    return statuses(service, [{ path: '/health' }, {}, {}]);
  }),
  same('asks a function for the limit', [200, 429, 200, 200, 429], async (on) => {
    const limit = (req: Request) => (req.query['plan'] === 'paid' ? 2 : 1);
    const keyGenerator = (req: Request) => String(req.query['plan']);
    const service = await serveWith(on.limiter({ limit, keyGenerator }));
    const paths = ['free', 'free', 'paid', 'paid', 'paid'];
    return statuses(
      service,
      paths.map((plan) => ({ path: `/?plan=${plan}` })),
    );
  }),
  same('waits for a limit that is async', [200, 200, 429], async (on) =>
    statuses(await serveWith(on.limiter({ limit: async () => 2 })), 3),
  ),
  same('lets nobody pass where the function answers 0', [429, 429], async (on) =>
    statuses(await serveWith(on.limiter({ limit: () => 0 })), 2),
  ),
  differs(
    'lets nobody pass with `limit: 0`',
    {
      theirs: [429],
      ours: 'SPW_LIMIT_INVALID',
      because: 'The constant 0 throws, as a mistake. A plan with a limit of 0 lets nobody pass.',
    },
    async (on) => {
      try {
        return await statuses(await serveWith(on.limiter({ limit: 0 })), 1);
      } catch (error) {
        return (error as { code?: string }).code;
      }
    },
  ),
  differs(
    'counts what it refuses, which shows when a function raises the limit',
    {
      theirs: [200, 429, 429, 429],
      ours: [200, 429, 429, 200],
      because: 'A refused request uses up nothing.',
    },
    async (on) => {
      let limit = 1;
      const service = await serveWith(on.limiter({ limit: () => limit }));
      const before = await statuses(service, 3);
      limit = 2;
      return [...before, ...(await statuses(service, 1))];
    },
  ),
  same('counts together where one limiter stands on two routes', [200, 200, 429], async (on) => {
    const { handler } = on.limiter(two);
    const routed = (path: string) => (req: Request, res: Response, next: NextFunction) =>
      req.path === path ? handler(req, res, next) : next();
    const service = await serve(routed('/a'), routed('/b'));
    return statuses(service, [{ path: '/a' }, { path: '/b' }, { path: '/a' }]);
  }),
  same('counts apart where two limiters have no store in common', [200, 200, 429], async (on) => {
    const [one, two] = [on.limiter({ limit: 1 }), on.limiter({ limit: 1 })];
    const service = await serve((req, res, next) =>
      (req.path === '/a' ? one : two).handler(req, res, next),
    );
    return statuses(service, [{ path: '/a' }, { path: '/b' }, { path: '/b' }]);
  }),
  differs(
    'counts a request twice that passes the same limiter twice',
    {
      theirs: [200, 429],
      ours: [200, 200],
      because: 'A guard that is mounted twice on the way of a request counts it once.',
    },
    async (on) => {
      const { handler } = on.limiter({ limit: 3 });
      return statuses(await serve(handler, handler), 2);
    },
  ),
  same('does not count for a limiter behind the one that refuses', [200, 429, 1], async (on) => {
    const inner = on.limiter({ limit: 5, keyGenerator: () => 'all' });
    const service = await serve(on.limiter({ limit: 1 }).handler, inner.handler);
    return [...(await statuses(service, 2)), await inner.usedBy('all')];
  }),
  same('forgets an address with `resetKey`', [200, 429, 200], async (on) => {
    const limiter = on.limiter({ limit: 1 });
    const service = await serveWith(limiter);
    const before = await statuses(service, 2);
    await limiter.resetKey('203.0.113.1');
    return [...before, ...(await statuses(service, 1))];
  }),
  same('forgets a key of `keyGenerator` with `resetKey`', [200, 429, 200], async (on) => {
    const limiter = on.limiter({ limit: 1, keyGenerator: () => 'ada' });
    const service = await serveWith(limiter);
    const before = await statuses(service, 2);
    await limiter.resetKey('ada');
    return [...before, ...(await statuses(service, 1))];
  }),
  same(
    'tells with `getKey` what a key has used, and nothing of others',
    [2, undefined],
    async (on) => {
      const limiter = on.limiter();
      await statuses(await serveWith(limiter), 2);
      return [await limiter.usedBy('203.0.113.1'), await limiter.usedBy('203.0.113.2')];
    },
  ),
  same('counts preflights of browsers too', [200, 429], async (on) => {
    const fields = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
    const preflight = { method: 'OPTIONS', fields } as const;
    return statuses(await serveWith(on.limiter({ limit: 1 })), [preflight, preflight]);
  }),
  differs(
    'answers 500 where `keyGenerator` throws',
    {
      theirs: [500, 500],
      ours: [200, 429],
      because: 'The address counts in place of the key, and `onFault` or the log gets the error.',
    },
    async (on) => {
      const keyGenerator = () => {
        throw new Error('no user');
      };
      return statuses(await serveWith(on.limiter({ limit: 1, keyGenerator })), 2);
    },
  ),
  differs(
    'answers 500 where a limit rejects',
    {
      theirs: [500],
      ours: [200],
      because: 'The declared limit applies, and `onFault` or the log gets the error.',
    },
    async (on) => {
      const limit = () => Promise.reject(new Error('no database'));
      return statuses(await serveWith(on.limiter({ limit })), 1);
    },
  ),
  differs(
    'loses its counts early where `windowMs` is longer than 24.8 days, in memory',
    {
      theirs: [200, 200],
      ours: [200, 429],
      because: 'Windows are up to 400 days long.',
    },
    async (on) => {
      const service = await serveWith(on.limiter({ limit: 1, windowMs: 30 * 86_400_000 }));
      const before = await statuses(service, 1);
      await passes(10);
      return [...before, ...(await statuses(service, 1))];
    },
  ),
  differs(
    'believes each `X-Forwarded-For` where `trust proxy` is `true`',
    {
      theirs: [200, 200],
      ours: [200, 429],
      because:
        'Any client could choose its address, so no proxy is believed, and the log gets a line.',
    },
    async (on) => {
      const believing = (req: Request, _res: Response, next: NextFunction) => {
        req.app.set('trust proxy', true);
        next();
      };
      const service = await serve(believing, on.limiter({ limit: 1 }).handler);
      return [(await ask(service)).status, (await ask(service, other)).status];
    },
  ),
];
