/** Which limiters apply to a handler: those of the module, the class and the method, in one guard. */

import { Controller, Get, Post } from '@nestjs/common';
import { remoteStore } from '@spillway/core/store';
import {
  ConcurrencyLimit,
  calendar,
  type DecisionEvent,
  fleetShedder,
  memoryStore,
  Priority,
  priorityOf,
  RateLimit,
  rateLimit,
  SkipRateLimit,
  SpillwayModule,
  type SpillwayOptions,
  type Step,
} from '@spillway/nestjs';
import { describe, expect, it } from 'vitest';
import { PLATFORMS, type Service, serve } from './service.js';

const HOUR = { limit: 9, window: '1h' } as const;

@Controller('cats')
@RateLimit({ ...HOUR, name: 'cats', limit: 8 })
@RateLimit(HOUR)
class CatsController {
  @Get('plain')
  plain(): void {}

  @Get('more')
  @RateLimit({ ...HOUR, name: 'more', limit: 7 })
  @ConcurrencyLimit({ limit: 3 })
  more(): void {}

  @Get('over')
  @RateLimit({ ...HOUR, limit: 6 })
  @RateLimit({ ...HOUR, name: 'front', limit: 5 })
  over(): void {}

  @Get('skip')
  @SkipRateLimit()
  skip(): void {}

  @Get('skip-some')
  @SkipRateLimit('front', 'cats')
  skipSome(): void {}

  @Get('instead')
  @SkipRateLimit()
  @RateLimit({ ...HOUR, name: 'instead', limit: 4 })
  instead(): void {}
}

@Controller('kittens')
class KittensController extends CatsController {
  @Get('own')
  @RateLimit({ ...HOUR, name: 'cats', limit: 8 })
  own(): void {}
}

@Controller('health')
@SkipRateLimit()
class HealthController {
  @Get()
  read(): void {}

  @Get('deep')
  @RateLimit({ ...HOUR, name: 'deep' })
  deep(): void {}
}

const front = (): SpillwayOptions => ({ limiters: [rateLimit({ ...HOUR, name: 'front' })] });

function metadata(options: SpillwayOptions, ...controllers: (new () => object)[]) {
  return { imports: [SpillwayModule.forRoot(options)], controllers };
}

/** What the response says about each limit: its name and what is left. */
async function limitsOf({ get }: Service, path: string): Promise<string | undefined> {
  return (await get(path)).headers['ratelimit']?.toString().replaceAll(/;t=\d+/g, '');
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  it('merges by name, and what is nearer overrides', async () => {
    const cats = await serve(adapter, metadata(front(), CatsController));
    const plain = '"front";r=8, "cats";r=7, "CatsController.plain";r=8';
    expect(await limitsOf(cats, '/cats/plain')).toBe(plain);
    expect(await limitsOf(cats, '/cats/more')).toBe(
      '"front";r=7, "cats";r=6, "CatsController.more";r=8, "more";r=6, "CatsController.more.concurrent";r=2',
    );
  });

  it('overrides a limit of the class without a name by one of the method without a name', async () => {
    const module = metadata({}, CatsController);
    const cats = await serve(adapter, module);
    expect(await limitsOf(cats, '/cats/over')).toBe(
      '"cats";r=7, "CatsController.over";r=5, "front";r=4',
    );
  });

  it('counts apart, under a name of its own, what overrides with other numbers', async () => {
    @Controller()
    @RateLimit({ ...HOUR, name: 'front', limit: 7 })
    class Strict {
      @Get('a')
      a(): void {}

      @Get('b')
      b(): void {}

      @Get('c')
      @RateLimit({ ...HOUR, name: 'front', limit: 3 })
      c(): void {}

      @Get('d')
      @RateLimit({ ...HOUR, name: 'front', limit: 7 })
      d(): void {}
    }
    const strict = await serve(adapter, metadata(front(), Strict, CatsController));
    expect(await limitsOf(strict, '/a')).toBe('"Strict.front";r=6');
    expect(await limitsOf(strict, '/b')).toBe('"Strict.front";r=5');
    expect(await limitsOf(strict, '/c')).toBe('"Strict.c.front";r=2');
    expect(await limitsOf(strict, '/d')).toBe('"Strict.front";r=4');
    expect(await limitsOf(strict, '/cats/over')).toContain('"CatsController.over.front";r=4, ');
    expect(await limitsOf(strict, '/cats/plain')).toContain('"front";r=8, ');
  });

  it('skips what comes from further out, all of it or by name', async () => {
    const cats = await serve(adapter, metadata(front(), CatsController, HealthController));
    expect(await limitsOf(cats, '/cats/skip')).toBeUndefined();
    expect(await limitsOf(cats, '/cats/skip-some')).toBe('"CatsController.skipSome";r=8');
    expect(await limitsOf(cats, '/cats/instead')).toBe('"instead";r=3');
    expect(await limitsOf(cats, '/health')).toBeUndefined();
    expect(await limitsOf(cats, '/health/deep')).toBe('"deep";r=8');
  });

  it('limits by calendar, and rejects with 402', async () => {
    @Controller()
    class Paid {
      @Get('paid')
      @RateLimit({ limit: 1, window: calendar('month'), status: 402 })
      paid(): void {}
    }
    const paid = await serve(adapter, metadata({}, Paid));
    expect(await limitsOf(paid, '/paid')).toBe('"Paid.paid";r=0');
    expect((await paid.get('/paid')).status).toBe(402);
  });

  it('counts an inherited method for the class that inherits it', async () => {
    const both = await serve(adapter, metadata({}, CatsController, KittensController));
    await limitsOf(both, '/cats/plain');
    expect(await limitsOf(both, '/kittens/plain')).toBe(
      '"cats";r=6, "KittensController.plain";r=8',
    );
    expect(await limitsOf(both, '/kittens/own')).toBe('"cats";r=5, "KittensController.own";r=8');
  });

  it('asks the store once for a request, however many limiters stand before it', async () => {
    const memory = memoryStore();
    const calls: string[][] = [];
    const apply = (steps: readonly Step[]) => {
      calls.push(steps.map(({ op, limiter }) => `${op} ${limiter}`));
      return memory.apply(steps);
    };
    const { get } = await serve(
      adapter,
      metadata({ ...front(), store: remoteStore({ sync: true, apply }) }, CatsController),
    );
    await get('/cats/skip-some');
    await get('/cats/plain');
    expect(calls).toEqual([
      ['take CatsController.skipSome'],
      ['take front', 'take cats', 'take CatsController.plain'],
    ]);
  });

  it('charges none of them when one refuses', async () => {
    const events: DecisionEvent[] = [];
    const onDecision = (event: DecisionEvent): unknown => events.push(event);
    @Controller()
    class Tight {
      @Get()
      @RateLimit({ name: 'tight', limit: 1, window: '1h' })
      read(): void {}
    }
    const { get } = await serve(adapter, metadata({ ...front(), onDecision }, Tight));
    for (let i = 0; i < 3; i += 1) await get();
    const left = events.filter(({ limiter }) => limiter === 'front');
    expect(left.map(({ remaining }) => remaining)).toEqual([8, 8, 8]);
  });

  it('lets a shedder see the priority of a method, or else of its class', async () => {
    const seen: (string | undefined)[] = [];
    @Controller()
    @Priority('get')
    class Charges {
      @Post('charges')
      @Priority('critical')
      charge(): void {}

      @Get('list')
      list(): void {}
    }
    @Controller('other')
    class Other {
      @Get()
      read(): void {}
    }
    const fleet = fleetShedder({
      name: 'fleet',
      capacity: 1,
      reserve: 1,
      priority: (request) => {
        seen.push(priorityOf(request));
        return seen.at(-1);
      },
    });
    const { get } = await serve(adapter, metadata({ limiters: [fleet] }, Charges, Other));
    expect((await get('/charges', { method: 'POST' })).status).toBe(201);
    expect((await get('/list')).status).toBe(503);
    expect((await get('/other')).status).toBe(503);
    expect(seen).toEqual(['critical', 'get', undefined]);
  });

  it('knows the pattern of the route', async () => {
    const seen: unknown[] = [];
    const key = ({ method, path, route }: { method: string; path: string; route?: unknown }) => {
      seen.push([method, path, route]);
      return undefined;
    };
    @Controller('cats/:id')
    class Cat {
      @Post('feed')
      feed(): void {}
    }
    const limiters = [rateLimit({ ...HOUR, key })];
    const { get } = await serve(adapter, metadata({ limiters }, Cat));
    await get('/cats/7/feed?x=1', { method: 'POST' });
    expect(seen).toEqual([['POST', '/cats/7/feed', '/cats/:id/feed']]);
  });
});
