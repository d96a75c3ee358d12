/** What the server sends: fields, statuses and bodies, byte for byte. */

import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Injectable,
  type NestInterceptor,
  Req,
} from '@nestjs/common';
import { ManualClock } from '@spillway/core/testing';
import {
  admissionsOf,
  memoryStore,
  rateLimit,
  SpillwayException,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import { map } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { PLATFORMS, type Service, serve } from './service.js';

const PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota exceeded","status":429,' +
  '"detail":"You have used up the quota of policy \\"2-per-1m\\". Try again in 30 seconds.","violated-policies":["2-per-1m"]}';

@Controller()
class HelloController {
  @Get()
  hello(): string {
    return 'hello';
  }

  @Get('things')
  things(request: object): object {
    const decisions = admissionsOf(request).flatMap((admission) => admission.decisions);
    return decisions.map(({ limiter, remaining }) => [limiter, remaining]);
  }
}

Req()(HelloController.prototype, 'things', 0);

/** A limit of 2 a minute, by a clock that stands still. */
function limited(options: SpillwayOptions = {}): SpillwayOptions {
  return {
    store: memoryStore({ clock: new ManualClock() }),
    limiters: [rateLimit({ name: '2-per-1m', limit: 2, window: '1m' })],
    ...options,
  };
}

const hello = (options: SpillwayOptions) => ({
  imports: [SpillwayModule.forRoot(options)],
  controllers: [HelloController],
});

async function exhaust({ get }: Service): Promise<void> {
  await get();
  await get();
}

/** An app's catch-all filter: it would answer every exception that reaches it. */
@Catch()
class Everything implements ExceptionFilter {
  readonly caught: unknown[] = [];

  catch(exception: unknown, host: ArgumentsHost): void {
    this.caught.push(exception);
    const status = exception instanceof SpillwayException ? exception.getStatus() : 500;
    host.switchToHttp().getResponse().status(status).send({ filtered: true });
  }
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  it('shows handlers the decisions', async () => {
    const { get } = await serve(adapter, hello(limited()));
    expect(JSON.parse((await get('/things')).body)).toEqual([['2-per-1m', 1]]);
  });

  it('carries the fields of the CORS middleware on a refusal', async () => {
    const exposedHeaders = ['RateLimit', 'RateLimit-Policy', 'Retry-After'];
    const service = await serve(adapter, hello(limited()), (app) => {
      app.enableCors({ exposedHeaders });
    });
    await exhaust(service);
    const { status, headers } = await service.get('/', {
      headers: { origin: 'https://a.example' },
    });
    expect(status).toBe(429);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-expose-headers']).toMatch(/RateLimit, ?RateLimit-Policy/);
  });

  it('keeps the connection of a refused request for the next one', async () => {
    const { raw } = await serve(adapter, hello(limited()));
    const reply = await raw('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(4));
    const statuses = [...reply.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual(['200', '200', '429', '429']);
  });

  it('answers by itself, so that no filter answers a second time', async () => {
    const filter = new Everything();
    const service = await serve(adapter, hello(limited()), (app) => {
      app.useGlobalFilters(filter);
    });
    await exhaust(service);
    expect(await service.get()).toMatchObject({ status: 429, body: PROBLEM });
    expect(filter.caught).toEqual([]);
  });

  it('throws on demand, with the same fields, and what Nest makes of it', async () => {
    const service = await serve(adapter, hello(limited({ rejection: 'throw' })));
    await exhaust(service);
    const { status, headers, body } = await service.get();
    expect({ status, body }).toEqual({ status: 429, body: PROBLEM });
    expect(headers).toMatchObject({ 'retry-after': '30', ratelimit: '"2-per-1m";r=0;t=30' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('throws on demand what a filter of the app answers', async () => {
    const filter = new Everything();
    const service = await serve(adapter, hello(limited({ rejection: 'throw' })), (app) => {
      app.useGlobalFilters(filter);
    });
    await exhaust(service);
    expect(await service.get()).toMatchObject({ status: 429, body: '{"filtered":true}' });
    const [exception] = filter.caught as SpillwayException[];
    expect(exception).toBeInstanceOf(SpillwayException);
    expect(exception?.admission.binding?.limiter).toBe('2-per-1m');
    expect(exception?.message).toContain('Try again in 30 seconds.');
  });

  it('throws an exception of the app instead of its own', async () => {
    class Mine extends Error {}
    const filter = new Everything();
    const options = limited({
      rejection: 'throw',
      exception: ({ status }) => new Mine(`${status}`),
    });
    const service = await serve(adapter, hello(options), (app) => app.useGlobalFilters(filter));
    await exhaust(service);
    await service.get();
    expect(filter.caught).toEqual([new Mine('429')]);
  });

  it.each<[string, () => unknown]>([
    ['nothing', () => undefined],
    ['true', () => true],
    ['a promise', async () => undefined],
    [
      'what it throws',
      () => {
        throw new Error('mine');
      },
    ],
  ])('lets no refused request on though the exception is %s', async (_, exception) => {
    const options = limited({ rejection: 'throw', exception: exception as () => Error });
    const service = await serve(adapter, hello(options), (app) => app.useLogger(false));
    await exhaust(service);
    const { status, body } = await service.get();
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body).not.toContain('hello');
  });

  it('leaves interceptors what the handler returns, and does not ask them about a refusal', async () => {
    let calls = 0;
    @Injectable()
    class Wrap implements NestInterceptor {
      intercept(...[, next]: Parameters<NestInterceptor['intercept']>) {
        calls += 1;
        return next.handle().pipe(map((data) => ({ data })));
      }
    }
    const { get } = await serve(adapter, hello(limited()), (app) => {
      app.useGlobalInterceptors(new Wrap());
    });
    expect((await get()).body).toBe('{"data":"hello"}');
    await get();
    expect((await get()).body).toBe(PROBLEM);
    expect(calls).toBe(2);
  });
});
