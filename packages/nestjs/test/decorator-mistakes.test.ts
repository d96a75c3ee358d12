/** Mistakes in decorators and in the module stop the start of an app. */

import { Controller, Get, Module } from '@nestjs/common';
import {
  ConcurrencyLimit,
  memoryStore,
  RateLimit,
  rateLimit,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import { describe, expect, it } from 'vitest';
import { create, PLATFORMS } from './service.js';

const HOUR = { limit: 9, window: '1h' } as const;

const front = (): SpillwayOptions => ({ limiters: [rateLimit({ ...HOUR, name: 'front' })] });

function metadata(options: SpillwayOptions, ...controllers: (new () => object)[]) {
  return { imports: [SpillwayModule.forRoot(options)], controllers };
}

describe('a mistake', () => {
  const [[, { adapter }]] = PLATFORMS;
  const twice = { limit: 1, window: '1h' } as const;

  it('of globalGuard in the options that useFactory returns fails before the app listens', async () => {
    const useFactory = () => ({ limiters: [], globalGuard: false });
    const app = create(adapter, { imports: [SpillwayModule.forRootAsync({ useFactory })] });
    await expect(app.then((made) => made.init())).rejects.toThrow(
      'globalGuard must be set beside useFactory, not in the options that it returns, got false',
    );
  });

  it.each([undefined, null])('of a useFactory that returns %s fails with a code', async (made) => {
    const useFactory = () => made as never;
    const app = create(adapter, { imports: [SpillwayModule.forRootAsync({ useFactory })] });
    await expect(app.then((own) => own.init())).rejects.toThrow('SPW_OPTION_INVALID');
  });

  it('in the options of a decorator throws where it stands', () => {
    expect(() => RateLimit({ limit: 0, window: '1m' })).toThrow('SPW_LIMIT_INVALID');
    expect(() => ConcurrencyLimit({ limit: 1.5 })).toThrow('SPW_LIMIT_INVALID');
  });

  it.each([
    [twice, 'read has two limits without a name'],
    [{ ...twice, name: 'same' }, 'read has two limits named "same"'],
  ])('of two limits on one target that cannot be told apart throws: %j', (options, message) => {
    expect(() => {
      class Controlled {
        @RateLimit(options)
        @RateLimit({ ...options, limit: 2 })
        read(): void {}
      }
      return Controlled;
    }).toThrow(message);
  });

  it('of one name for two limits fails before the app listens', async () => {
    @Controller()
    class Conflicting {
      @Get('a')
      @RateLimit({ name: 'same', limit: 1, window: '1h' })
      a(): void {}

      @Get('b')
      @RateLimit({ name: 'same', limit: 2, window: '1h' })
      b(): void {}
    }
    const app = await create(adapter, metadata({}, Conflicting));
    await expect(app.init()).rejects.toThrow('SPW_NAME_CONFLICT');
  });

  it('of two classes with one name and no names for their limits fails before the app listens', async () => {
    const version = (path: string) => {
      @Controller(path)
      class SameController {
        @Get()
        @RateLimit(HOUR)
        read(): void {}
      }
      return SameController;
    };
    const app = await create(adapter, metadata({}, version('v1'), version('v2')));
    await expect(app.init()).rejects.toThrow(
      'two classes or methods would have a limit called "SameController.read"',
    );
  });

  it('in the options of the module fails when the app is made', async () => {
    const make = async (options: object) => create(adapter, metadata(options as SpillwayOptions));
    await expect(make({ trustProxy: true })).rejects.toThrow('SPW_TRUST_PROXY_UNSAFE');
    await expect(make({ rejection: 'never' })).rejects.toThrow('SPW_OPTION_INVALID');
    await expect(make({ ipv6Prefix: 129 })).rejects.toThrow('SPW_OPTION_INVALID');
    const limiters = [rateLimit(HOUR)];
    await expect(make({ limiters, store: memoryStore() })).rejects.toThrow('SPW_NAME_REQUIRED');
  });

  it('of two configurations of the module fails before the app listens', async () => {
    class Feature {}
    Module({ imports: [SpillwayModule.forRoot(front())] })(Feature);
    const app = await create(adapter, {
      imports: [Feature, SpillwayModule.forRoot({ ...front(), headers: [] })],
    });
    await expect(app.init()).rejects.toThrow('SPW_REGISTERED_TWICE');
  });
});
