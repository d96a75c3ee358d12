/** From the admission to the close of the response: the permit is released exactly once, whatever happens. */

import {
  type CanActivate,
  Controller,
  Get,
  type INestApplication,
  Injectable,
  InternalServerErrorException,
  type NestInterceptor,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  ConcurrencyLimit,
  type Fault,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import { throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { create, PLATFORMS, serve, until } from './service.js';

/** A limiter that records how each request ended, and refunds nothing. */
function noting() {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  return { outcomes, limiter: rateLimit({ name: 'noting', limit: 100, window: '1h', refundIf }) };
}

const refuseAll: CanActivate = { canActivate: () => false };

@Injectable()
class Failing implements NestInterceptor {
  intercept() {
    return throwError(() => new InternalServerErrorException());
  }
}

/** A handler that waits until the test lets it end. */
class Waiting {
  arrived = 0;
  go: () => void = () => undefined;

  wait(): Promise<string> {
    this.arrived += 1;
    return new Promise((resolve) => {
      this.go = () => resolve('done');
    });
  }
}

function app(options: SpillwayOptions) {
  const waiting = new Waiting();
  @Controller()
  class Handlers {
    @Get('fine')
    fine(): string {
      return 'fine';
    }

    @Get('throws')
    throws(): never {
      throw new Error('mine');
    }

    @Get('refused')
    @UseGuards(refuseAll)
    refused(): void {}

    @Get('failing')
    @UseInterceptors(Failing)
    failing(): void {}

    @Get('alone')
    @ConcurrencyLimit({ name: 'alone', limit: 1 })
    alone(): Promise<string> {
      return waiting.wait();
    }
  }
  return {
    waiting,
    metadata: { imports: [SpillwayModule.forRoot(options)], controllers: [Handlers] },
  };
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  it('releases once when a handler, a later guard or an interceptor ends a request', async () => {
    const { outcomes, limiter } = noting();
    const { get } = await serve(adapter, app({ limiters: [limiter] }).metadata);
    for (const path of ['/fine', '/throws', '/refused', '/failing']) await get(path);
    await until(() => outcomes.length === 4);
    expect(outcomes).toEqual([
      { status: 200, aborted: false },
      { status: 500, aborted: false },
      { status: 403, aborted: false },
      { status: 500, aborted: false },
    ]);
  });

  it('holds a permit while a handler runs, and refuses meanwhile', async () => {
    const { metadata, waiting } = app({});
    const { app: nest, get } = await serve(adapter, metadata);
    const first = get('/alone');
    await until(() => waiting.arrived === 1);
    expect(nest.get(SpillwayModule).inProgress).toBe(1); // what metrics read
    const { status, body } = await get('/alone');
    expect(status).toBe(429);
    expect(JSON.parse(body)['violated-policies']).toEqual(['alone']);
    waiting.go();
    expect(await first).toMatchObject({ status: 200, body: 'done' });
    const again = get('/alone');
    await until(() => waiting.arrived === 2);
    waiting.go();
    expect((await again).status).toBe(200);
  });

  it('is never the reason for an error', async () => {
    const faults: Fault[] = [];
    const limiters = [rateLimit({ limit: 1, window: '1h' })];
    const { metadata } = app({ limiters, onFault: (fault) => faults.push(fault) });
    const { get } = await serve(adapter, metadata, breakHeaders);
    expect((await get('/fine')).body).toBe('fine');
    expect(faults).toMatchObject([{ source: 'adapter', error: { message: 'no such field' } }]);
  });
});

it('releases what is asked through inject, as in tests of apps on Fastify', async () => {
  const { outcomes, limiter } = noting();
  const nest = await create(() => new FastifyAdapter(), app({ limiters: [limiter] }).metadata);
  await nest.init();
  const fastify = nest.getHttpAdapter().getInstance() as FastifyAdapter;
  expect((await fastify.inject({ url: '/fine' })).statusCode).toBe(200);
  await until(() => outcomes.length > 0);
  expect(outcomes).toMatchObject([{ status: 200 }]);
});

/** Makes a response throw when the fields of limits are set, on either platform. */
function breakHeaders(nest: INestApplication): void {
  type Setter = Record<string, (name: string, value: unknown) => unknown>;
  const spoil = (target: Setter, method: string): void => {
    const original = target[method];
    target[method] = (name, value) => {
      if (/^ratelimit/i.test(name)) throw new Error('no such field');
      return original?.call(target, name, value);
    };
  };
  const instance = nest.getHttpAdapter().getInstance();
  if (nest.getHttpAdapter().getType() === 'fastify') {
    instance.addHook('onRequest', (_request: object, reply: Setter, done: () => void) => {
      spoil(reply, 'header');
      done();
    });
  } else {
    nest.use((_request: object, response: Setter, next: () => void) => {
      spoil(response, 'setHeader');
      next();
    });
  }
}
