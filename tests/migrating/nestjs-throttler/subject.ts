/** @nestjs/throttler, and the same options with Spillway below. */

import 'reflect-metadata';
import {
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  HttpException,
  Module,
  type ModuleMetadata,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import * as peer from '@nestjs/throttler';
import {
  type LimitRequest,
  RateLimit,
  type RateLimitOptions,
  rateLimit,
  requestOf,
  SkipRateLimit,
  SpillwayModule,
  slidingLog,
} from '@spillway/nestjs';
import { type Service, serveListener } from 'spillway-testkit/http';
import { onTestFinished } from 'vitest';

type Decorator = ClassDecorator & MethodDecorator;
type Throttles = Parameters<typeof peer.Throttle>[0];

/** The decorators of a method, or of a class of methods. */
interface Target {
  readonly throttle?: Throttles;
  readonly skip?: Record<string, boolean>;
}

export interface App {
  readonly options: peer.ThrottlerModuleOptions;
  /** Routes by their controllers: `{ cats: { list: {} } }` is `GET /cats/list`. Default: `/cats/list` and `/cats/one`. */
  readonly controllers?: Readonly<Record<string, Readonly<Record<string, Target>>>>;
  /** What stands on controllers. */
  readonly classes?: Readonly<Record<string, Target>>;
  /** The number of proxies that Spillway is configured for; the platform is configured for one. Default 1. */
  readonly trustProxy?: number;
  /** What app-wide exception filters send for an error. */
  readonly onError?: (error: unknown) => object;
}

export interface Subject {
  serve(app: App): Promise<Service>;
}

interface Package {
  module(options: peer.ThrottlerModuleOptions, trustProxy: number): DynamicModule;
  readonly providers: NonNullable<ModuleMetadata['providers']>;
  decorators(target: Target, options: peer.ThrottlerModuleOptions): readonly Decorator[];
}

function serveWith(use: Package): Subject {
  return {
    async serve(spec) {
      const { options, classes = {}, trustProxy = 1, onError } = spec;
      const { controllers = { cats: { list: {}, one: {} } } } = spec;
      const metadata: ModuleMetadata = {
        imports: [use.module(options, trustProxy)],
        providers: use.providers,
        controllers: Object.entries(controllers).map(([path, routes]) => {
          const { [path]: Made } = { [path]: class {} };
          const made = Made as new () => object;
          for (const [route, target] of Object.entries(routes)) {
            const value = { [route]: () => 'hello' }[route];
            Object.defineProperty(made.prototype, route, { value, configurable: true });
            const descriptor = Object.getOwnPropertyDescriptor(made.prototype, route);
            for (const decorate of [Get(route), ...use.decorators(target, options)]) {
              decorate(made.prototype, route, descriptor as PropertyDescriptor);
            }
          }
          for (const decorate of use.decorators(classes[path] ?? {}, options)) decorate(made);
          Controller(path)(made);
          return made;
        }),
      };
      class AppModule {}
      Module(metadata)(AppModule);
      const app = await NestFactory.create<NestExpressApplication>(
        AppModule,
        new ExpressAdapter(),
        {
          logger: false,
          abortOnError: false,
        },
      );
      onTestFinished(() => app.close());
      app.set('trust proxy', 1);
      if (onError) {
        app.useGlobalFilters({
          catch: (error, host) =>
            host.switchToHttp().getResponse().status(400).json(onError(error)),
        });
      }
      await app.init();
      return serveListener(app.getHttpAdapter().getInstance());
    },
  };
}

export const theirs: Subject = serveWith({
  module: (options) => peer.ThrottlerModule.forRoot(options),
  providers: [{ provide: APP_GUARD, useClass: peer.ThrottlerGuard }],
  decorators: ({ throttle, skip }) => [
    ...(throttle ? [peer.Throttle(throttle) as Decorator] : []),
    ...(skip ? [peer.SkipThrottle(skip) as Decorator] : []),
  ],
});

type Common = Exclude<peer.ThrottlerModuleOptions, readonly unknown[]>;

const commonOf = (options: peer.ThrottlerModuleOptions): Common =>
  Array.isArray(options) ? { throttlers: options } : options;

/** Each handler counts for itself. */
const perHandler = (who: string, { raw }: LimitRequest<ExecutionContext>): string =>
  `${raw.getClass().name}.${raw.getHandler().name} ${who}`;

function optionsOf(throttler: peer.ThrottlerOptions, common: Common) {
  const { name = 'default', limit, ttl } = throttler;
  const skipIf = throttler.skipIf ?? common.skipIf;
  const getTracker = throttler.getTracker ?? common.getTracker;
  return {
    name,
    limit: typeof limit === 'function' ? 1 : limit,
    window: typeof ttl === 'function' ? 60_000 : ttl,
    plan: async ({ raw }) => ({
      limit: typeof limit === 'function' ? await limit(raw) : null,
      window: typeof ttl === 'function' ? await ttl(raw) : null,
    }),
    algorithm: slidingLog,
    key: getTracker
      ? async (request) =>
          perHandler(await getTracker(requestOf(request.raw) as object, request.raw), request)
      : (request) => perHandler(request.clientIp ?? '', request),
    ...(skipIf && { mode: ({ raw }) => (skipIf(raw) ? 'off' : 'enforce') }),
  } satisfies RateLimitOptions<ExecutionContext>;
}

export const ours: Subject = serveWith({
  module(options, trustProxy) {
    const common = commonOf(options);
    const { errorMessage, ignoreUserAgents = [] } = common;
    return SpillwayModule.forRoot({
      limiters: common.throttlers.map((throttler) => rateLimit(optionsOf(throttler, common))),
      skip: (request) =>
        ignoreUserAgents.some((pattern) => pattern.test(request.header('user-agent') ?? '')),
      headers: common.setHeaders === false ? [] : ['legacy'],
      trustProxy,
      rejection: 'throw',
      ...(typeof errorMessage === 'string' && {
        exception: () => new HttpException(errorMessage, 429),
      }),
      logger: false,
    });
  },
  providers: [],
  decorators: ({ throttle = {}, skip = {} }, options) => [
    ...Object.entries(throttle).map(([name, { limit = 1, ttl = 0 }]) =>
      RateLimit(optionsOf({ name, limit, ttl }, commonOf(options))),
    ),
    ...(Object.keys(skip).length > 0
      ? [SkipRateLimit(...Object.keys(skip).filter((name) => skip[name]))]
      : []),
  ],
});
