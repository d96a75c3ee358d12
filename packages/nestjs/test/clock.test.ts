/** A test passes its clock to a module that it imports as a whole. */

import type { AddressInfo } from 'node:net';
import { Controller, Get, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  fixedWindow,
  getLimiterToken,
  type KeyedLimiter,
  RateLimit,
  rateLimit,
  SPILLWAY_OPTIONS,
  SpillwayModule,
  type Store,
} from '@spillway/nestjs';
import { ManualClock } from '@spillway/nestjs/testing';
import { requestsTo } from 'spillway-testkit/http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PLATFORMS } from './service.js';

const options = { limiters: [rateLimit({ limit: 2, window: '1m' })] };

@Controller()
class Hello {
  @Get()
  all(): void {}

  @Get('few')
  @RateLimit({ limit: 1, window: '1m' })
  few(): void {}
}

@Module({ imports: [SpillwayModule.forRoot(options)], controllers: [Hello] })
class AppModule {}

describe.each(PLATFORMS)('a module that is given a clock, on %s', (_, { adapter }) => {
  it.each(['/', '/few'])('counts %s by it, limits of decorators too', async (path) => {
    const clock = new ManualClock();
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(SPILLWAY_OPTIONS)
      .useValue({ ...options, clock })
      .compile();
    const app = module.createNestApplication(adapter(), { logger: false });
    onTestFinished(() => app.close());
    await app.listen(0, '127.0.0.1');
    const { get } = requestsTo((app.getHttpServer().address() as AddressInfo).port);
    const statuses = async () => [await get(path), await get(path), await get(path)];
    const shown = async () => (await statuses()).map(({ status }) => status);
    const wanted = path === '/' ? [200, 200, 429] : [200, 429, 429];
    expect(await shown()).toEqual(wanted);
    clock.advance('1m');
    expect(await shown()).toEqual(wanted);
  });
});

it('what a module injects counts by it too, in windows from the first request', async () => {
  const clock = new ManualClock();
  const window = {
    limit: 2,
    window: '1m',
    algorithm: fixedWindow,
    anchor: 'first-request',
  } as const;
  const imports = [
    SpillwayModule.forRoot({ clock }),
    SpillwayModule.forFeature({ limiters: { messages: window } }),
  ];
  const module = await Test.createTestingModule({ imports }).compile();
  onTestFinished(() => module.close());
  const messages = module.get<KeyedLimiter<Store>>(getLimiterToken('messages'), { strict: false });
  clock.advance('20s');
  expect(await messages.consume('ada')).toMatchObject({ remaining: 1, resetMs: 60_000 });
  clock.advance('45s');
  expect(await messages.consume('ada')).toMatchObject({ remaining: 0, resetMs: 15_000 });
});
