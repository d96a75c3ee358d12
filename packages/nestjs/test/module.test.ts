/** How an app is put together: options from providers, the order of guards, and what else can be injected. */

import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Module,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  createLimiter,
  type DecisionEvent,
  type Fault,
  memoryStore,
  RateLimit,
  rateLimit,
  requestOf,
  SPILLWAY_STORE,
  SpillwayGuard,
  SpillwayModule,
  type SpillwayOptions,
  type Store,
} from '@spillway/nestjs';
import { ManualClock } from '@spillway/nestjs/testing';
import { describe, expect, it } from 'vitest';
import { type MakeAdapter, PLATFORMS, serve } from './service.js';

interface WithUser {
  headers: Record<string, string | undefined>;
  user?: { id: string };
}

/** Authenticates each request as the user that its header names. */
const authenticate: CanActivate = {
  canActivate(context: ExecutionContext) {
    const request = context.switchToHttp().getRequest<WithUser>();
    const id = request.headers['x-user'];
    if (id) request.user = { id };
    return true;
  },
};

const perUser = () =>
  rateLimit({
    name: 'per-user',
    limit: 1,
    window: '1h',
    key: ({ raw }) => requestOf<WithUser>(raw).user?.id,
  });

@Controller()
class Plain {
  @Get()
  read(): void {}
}

/** The statuses of one request by each of the users, in order. */
async function statuses(adapter: MakeAdapter, app: object, users: string[]): Promise<number[]> {
  const { get } = await serve(adapter, app);
  const seen: number[] = [];
  for (const user of users) seen.push((await get('/', { headers: { 'x-user': user } })).status);
  return seen;
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  it('takes options, store and observers out of providers', async () => {
    class Metrics {
      readonly events: DecisionEvent[] = [];
      readonly observe = (event: DecisionEvent): unknown => this.events.push(event);
    }
    const store = memoryStore();
    class Shared {}
    Module({
      providers: [Metrics, { provide: 'STORE', useValue: store }],
      exports: [Metrics, 'STORE'],
    })(Shared);
    const { app, get } = await serve(adapter, {
      imports: [
        Shared,
        SpillwayModule.forRootAsync({
          imports: [Shared],
          inject: ['STORE', Metrics],
          useFactory: async (of: Store, metrics: Metrics) => ({
            store: of,
            limiters: [rateLimit({ name: 'one', limit: 1, window: '1h' })],
            onDecision: metrics.observe,
          }),
        }),
      ],
      controllers: [Plain],
    });
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
    expect(app.get(Metrics).events.map(({ outcome }) => outcome)).toEqual(['allowed', 'denied']);
    expect(app.get(SPILLWAY_STORE)).toBe(store);
  });

  it('lends its store to limiters of the app', async () => {
    class Logins {
      readonly failures;
      constructor(store: Store) {
        const rule = { name: 'failures', limit: 2, window: '1h' } as const;
        this.failures = createLimiter(rule, { store });
      }
    }
    Inject(SPILLWAY_STORE)(Logins, undefined, 0);
    const { app } = await serve(adapter, {
      imports: [SpillwayModule.forRoot()],
      providers: [Logins],
    });
    const decision = await app.get(Logins).failures.consume('ada');
    expect(decision.remaining).toBe(1);
  });

  it('counts by its clock where it has no store', async () => {
    const clock = new ManualClock();
    const limiters = [rateLimit({ limit: 1, window: '1h' })];
    const { get } = await serve(adapter, {
      imports: [SpillwayModule.forRoot({ clock, limiters })],
      controllers: [Plain],
    });
    expect([(await get()).status, (await get()).status]).toEqual([200, 429]);
    clock.advance('1h');
    expect((await get()).status).toBe(200);
  });

  it('passes everything, and sends no fields, when no limiter is declared', async () => {
    const { get } = await serve(adapter, {
      imports: [SpillwayModule.forRoot()],
      controllers: [Plain],
    });
    const { status, headers } = await get();
    expect([status, headers['ratelimit']]).toEqual([200, undefined]);
  });

  it('knows the user whom a global guard of the root module authenticated', async () => {
    const app = {
      imports: [SpillwayModule.forRoot({ limiters: [perUser()] })],
      controllers: [Plain],
      providers: [{ provide: APP_GUARD, useValue: authenticate }],
    };
    expect(await statuses(adapter, app, ['ada', 'bob', 'ada', 'bob'])).toEqual([
      200, 200, 429, 429,
    ]);
  });

  it('knows the user whom a global guard of a module imported before authenticated', async () => {
    class Auth {}
    Module({ providers: [{ provide: APP_GUARD, useValue: authenticate }] })(Auth);
    const app = {
      imports: [Auth, SpillwayModule.forRoot({ limiters: [perUser()] })],
      controllers: [Plain],
    };
    expect(await statuses(adapter, app, ['ada', 'bob', 'ada'])).toEqual([200, 200, 429]);
  });

  it('knows the user whom a guard of the controller authenticated, when bound behind it', async () => {
    @Controller()
    @UseGuards(authenticate, SpillwayGuard)
    class Behind extends Plain {}
    const limiters = [perUser()];
    const app = {
      imports: [SpillwayModule.forRoot({ limiters, globalGuard: false })],
      controllers: [Behind],
    };
    expect(await statuses(adapter, app, ['ada', 'bob', 'ada'])).toEqual([200, 200, 429]);
  });

  it('judges a request once though the guard is bound twice, and says so once', async () => {
    const faults: Fault[] = [];
    @Controller()
    @UseGuards(SpillwayGuard)
    class Twice {
      @Get()
      @UseGuards(SpillwayGuard)
      @RateLimit({ limit: 2, window: '1h' })
      read(): void {}
    }
    const observed: Fault[] = [];
    const options: SpillwayOptions = {
      onFault: (fault) => faults.push(fault),
      observers: [{ onFault: (fault) => void observed.push(fault) }],
    };
    const app = { imports: [SpillwayModule.forRoot(options)], controllers: [Twice] };
    expect(await statuses(adapter, app, ['a', 'a', 'a'])).toEqual([200, 200, 429]);
    expect(faults).toMatchObject([{ source: 'adapter', error: { code: 'SPW_REGISTERED_TWICE' } }]);
    expect(observed).toEqual(faults);
  });

  it.each<[string, SpillwayOptions, string, string | undefined]>([
    ['nobody by default', {}, '6.6.6.6', '127.0.0.1'],
    ['a hop count', { trustProxy: 1 }, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
    ['addresses', { trustProxy: ['loopback'] }, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
    ['one IPv6 client for its /64', { trustProxy: 1 }, '2001:db8::1:2:3:4', '2001:db8::/64'],
    ['another prefix', { trustProxy: 1, ipv6Prefix: 48 }, '2001:db8:1:2::3', '2001:db8:1::/48'],
    ['no address where there is none', { trustProxy: 1 }, '<script>', undefined],
  ])('believes %s', async (_, options, claim, expected) => {
    const seen: (string | undefined)[] = [];
    const key = ({ clientIp }: { clientIp: string | undefined }): undefined => {
      seen.push(clientIp);
      return undefined;
    };
    const limiters = [rateLimit({ limit: 2, window: '1h', key })];
    const { get } = await serve(adapter, {
      imports: [SpillwayModule.forRoot({ ...options, limiters })],
      controllers: [Plain],
    });
    await get('/', { headers: { 'x-forwarded-for': claim } });
    expect(seen).toEqual([expected]);
  });
});
