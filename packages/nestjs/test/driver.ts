/** What the shared tests need of Nest: one guard for all routes, on either platform. */

import type { ServerResponse } from 'node:http';
import {
  All,
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Req,
  Res,
  StreamableFile,
} from '@nestjs/common';
import {
  admissionsOf,
  concurrencyLimit,
  rateLimit,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import { type App, type Driver, HELLO, type Route, type Sent } from 'spillway-testkit/adapters';
import { type MakeAdapter, serve } from './service.js';

type Guard = SpillwayOptions;

interface PlatformReply {
  readonly raw?: ServerResponse;
  status(status: number): PlatformReply;
  send(body?: unknown): unknown;
}

export function driverOf(adapter: MakeAdapter): Driver<Guard> {
  return {
    rateLimit: rateLimit as Driver['rateLimit'],
    concurrencyLimit: concurrencyLimit as Driver['concurrencyLimit'],
    guard: (limiters, options) => ({ ...options, limiters: [limiters].flat() }) as Guard,
    serve: (app) => served(adapter, app),
    // Fastify sends field names in lower case.
    shown: (fields) =>
      fields
        .map(([name, value]) => [name.toLowerCase(), value] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
  };
}

function served(
  adapter: MakeAdapter,
  { before, guards = [], routes = [HELLO], onError }: App<Guard>,
) {
  const [guard = {}, more] = guards;
  if (more) throw new Error('an app of Nest has one module of ours');
  const imports = [SpillwayModule.forRoot(guard)];
  return serve(adapter, { imports, controllers: [controllerOf(routes)] }, (app) => {
    if (before) {
      app.use((_req: object, res: ServerResponse, next: () => void) => {
        before(res);
        next();
      });
    }
    if (onError) app.useGlobalFilters(filterOf(onError));
  });
}

function controllerOf(routes: readonly Route<Guard>[]): new () => object {
  class Routes {}
  const proto = Routes.prototype as Record<string, object>;
  for (const [at, { path, method, handle }] of routes.entries()) {
    const name = `route${at}`;
    proto[name] = async (request: Request, reply: PlatformReply): Promise<unknown> => {
      const admissions = admissionsOf(request);
      const { method, url: path } = request;
      const answer = await handle({ method, path, admissions, holder: request });
      if ('by' in answer) throw new Error("Nest's handlers do not write to Node's response");
      const { status = 200, body, json } = answer;
      reply.status(status);
      return json ?? (typeof body === 'object' ? new StreamableFile(body) : body);
    };
    Req()(proto, name, 0);
    Res({ passthrough: true })(proto, name, 1);
    const descriptor = Object.getOwnPropertyDescriptor(proto, name) as PropertyDescriptor;
    const mount = (method === undefined ? All : Get)(path);
    mount(proto, name, descriptor);
  }
  Controller()(Routes);
  return Routes;
}

function filterOf(answer: (error: Error) => Sent): ExceptionFilter {
  @Catch()
  class Filter implements ExceptionFilter {
    catch(error: Error, host: ArgumentsHost): void {
      const { status = 200, body, json } = answer(error);
      host
        .switchToHttp()
        .getResponse<PlatformReply>()
        .status(status)
        .send(json ?? body);
    }
  }
  return new Filter();
}
