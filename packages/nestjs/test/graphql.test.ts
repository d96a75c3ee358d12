/** GraphQL: an execution context as GqlExecutionContext makes it, with or without a response. */

import { EventEmitter } from 'node:events';
import type { INestApplication } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { remoteStore } from '@spillway/core/store';
import {
  admissionsOf,
  concurrencyLimit,
  memoryStore,
  rateLimit,
  requestOf,
  SpillwayException,
  SpillwayGuard,
  SpillwayModule,
  type SpillwayOptions,
  type Step,
} from '@spillway/nestjs';
import { describe, expect, it } from 'vitest';
import { create, PLATFORMS } from './service.js';

const [[, { adapter }]] = PLATFORMS;

/** A response that the test closes. */
class FakeResponse extends EventEmitter {
  readonly headers = new Map<string, unknown>();
  readonly headersSent = false;
  readonly writableFinished = true;
  readonly socket = {};
  statusCode = 200;
  getHeader = (name: string): unknown => this.headers.get(name.toLowerCase());
  setHeader = (name: string, value: unknown): unknown =>
    this.headers.set(name.toLowerCase(), value);
}

class CatsResolver {
  cats(): void {}
}

/** What GraphQL passes to a guard for a field: the root, the arguments, the app's context, and the field. */
function fieldOf(shared: object): ExecutionContextHost {
  const info = { parentType: { toString: () => 'Query' }, fieldName: 'cats' };
  const { cats } = CatsResolver.prototype;
  const context = new ExecutionContextHost([{}, {}, shared, info], CatsResolver, cats);
  context.setType('graphql');
  return context;
}

function operation() {
  const socket = Object.assign(new EventEmitter(), { destroyed: false, remoteAddress: '::1' });
  const req = { method: 'POST', url: '/graphql', headers: { 'x-key': 'ada' }, socket };
  return { req, res: new FakeResponse() };
}

describe('in GraphQL', () => {
  const make = async (options: SpillwayOptions) => {
    const app: INestApplication = await create(adapter, {
      imports: [SpillwayModule.forRoot(options)],
    });
    await app.init();
    const guard = app.get(SpillwayGuard);
    return { app, judge: async (shared: object) => guard.canActivate(fieldOf(shared)) };
  };

  it('limits each field, by the request that carries them, and throws', async () => {
    const key = (request: { header(name: string): string | undefined }) => request.header('x-key');
    const limiters = [rateLimit({ name: 'fields', limit: 2, window: '1h', key })];
    const { judge } = await make({ limiters });
    const shared = operation();
    expect(await judge(shared)).toBe(true);
    expect(await judge(shared)).toBe(true);
    const refused = judge(shared);
    await expect(refused).rejects.toBeInstanceOf(SpillwayException);
    await expect(refused).rejects.toThrow('You have used up the quota of policy "fields".');
    expect(admissionsOf(shared.req).map(({ allowed }) => allowed)).toEqual([true, true, false]);
    expect(requestOf(fieldOf(shared))).toBe(shared.req);
  });

  it('tells of the fields together, without a status of its own, beside what was there', async () => {
    const limiters = [rateLimit({ name: 'fields', limit: 1, window: '1h' })];
    const { judge } = await make({ limiters });
    const shared = operation();
    shared.res.setHeader('RateLimit', '"before";r=1');
    await judge(shared);
    await judge(shared).catch(() => undefined);
    expect(shared.res.getHeader('RateLimit')).toBe('"before";r=1, "fields";r=0;t=3600');
    expect(shared.res.getHeader('Retry-After')).toBe('3600');
    expect(shared.res.getHeader('Content-Type')).toBeUndefined();
    expect(shared.res.statusCode).toBe(200);
  });

  it('knows the operation, for costs', async () => {
    const seen: unknown[] = [];
    const cost = ({ method, path, route }: { method: string; path: string; route?: unknown }) => {
      seen.push([method, path, route]);
      return 1;
    };
    const { judge } = await make({ limiters: [rateLimit({ limit: 2, window: '1h', cost })] });
    await judge(operation());
    expect(seen).toEqual([['POST', '/graphql', 'Query.cats']]);
  });

  it('holds a permit until the response has closed', async () => {
    const limiters = [concurrencyLimit({ name: 'front', limit: 1 })];
    const { judge } = await make({ limiters });
    const shared = operation();
    expect(await judge(shared)).toBe(true);
    await expect(judge(operation())).rejects.toThrow('only 1 request in progress');
    shared.res.emit('close');
    expect(await judge(operation())).toBe(true);
  });

  it('limits where the context of the app has no request', async () => {
    const limiters = [rateLimit({ name: 'one', limit: 1, window: '1h' })];
    const { judge } = await make({ limiters });
    expect(await judge({})).toBe(true);
    await expect(judge({ res: 'none', req: 'none' })).rejects.toThrow('used up');
    await expect(judge({ res: new FakeResponse(), req: {} })).rejects.toThrow('used up');
    const hostile = {
      get req() {
        throw new Error('not here');
      },
    };
    await expect(judge(hostile)).rejects.toThrow('used up');
  });

  it('gives back at shutdown what is still held', async () => {
    const memory = memoryStore();
    const puts: string[] = [];
    const apply = (steps: readonly Step[]) => {
      puts.push(...steps.filter(({ op }) => op === 'put').map(({ limiter }) => limiter));
      return memory.apply(steps);
    };
    const limiters = [concurrencyLimit({ name: 'front', limit: 5 })];
    const { app, judge } = await make({ limiters, store: remoteStore({ sync: true, apply }) });
    await judge(operation());
    expect(puts).toEqual([]);
    await app.close();
    expect(puts).toEqual(['front']);
  });
});
