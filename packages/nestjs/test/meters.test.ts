/** Costs known only afterwards: the usage as a parameter of a handler, and found by the handler's context. */

import { Controller, type ExecutionContext, Get } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import {
  Metered,
  memoryStore,
  meter,
  RateLimit,
  rateLimit,
  requestOf,
  type Spent,
  SpillwayGuard,
  SpillwayModule,
  type UnitsEvent,
} from '@spillway/nestjs';
import { until } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { create, PLATFORMS, serve } from './service.js';

const rows = meter({ reserve: () => 40 });
const key = ({ raw }: { raw: ExecutionContext }) =>
  String(requestOf<{ headers?: Record<string, string> }>(raw).headers?.['x-key'] ?? 'ada');

@Controller('exports')
class ExportsController {
  @Get()
  @RateLimit({ name: 'rows', limit: 100, window: '1h', key, cost: rows.cost((n) => n) })
  read(@Metered(rows) spent: Spent<number>): object {
    spent.settle(12);
    return spent.snapshot();
  }

  @Get('free')
  free(@Metered(rows) spent: Spent<number>): object {
    return { settled: spent.settle(12), ...spent.snapshot() };
  }
}

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  it('injects the usage of a call, which does nothing where no limit has charged it', async () => {
    const events: UnitsEvent[] = [];
    const observers = [{ onUnits: (event: UnitsEvent) => events.push(event) }];
    const { get } = await serve(adapter, {
      imports: [SpillwayModule.forRoot({ store: memoryStore(), observers })],
      controllers: [ExportsController],
    });
    expect(JSON.parse((await get('/exports')).body)).toMatchObject({
      rows: { requested: 40, charged: 12, remaining: 88 },
    });
    await until(() => events.length === 2);
    expect(events.map(({ kind, units }) => [kind, units])).toEqual([
      ['reserved', 40],
      ['returned', 28],
    ]);
    expect(JSON.parse((await get('/exports/free')).body)).toEqual({ settled: true });
    expect(events).toHaveLength(2);
  });
});

describe('in GraphQL', () => {
  it('each field of an operation has a usage of its own, by its context', async () => {
    const [[, { adapter }]] = PLATFORMS;
    const limit = rateLimit({
      name: 'rows',
      limit: 1_000,
      window: '1h',
      key: () => 'ada',
      cost: rows.cost((n) => n),
    });
    const app = await create(adapter, { imports: [SpillwayModule.forRoot({ limiters: [limit] })] });
    await app.init();
    class Resolver {
      cats(): void {}
    }
    const shared = { req: { method: 'POST', url: '/graphql', headers: {}, socket: {} } };
    const fieldOf = (info: object) => {
      const args = [{}, {}, shared, info];
      const context = new ExecutionContextHost(args, Resolver, Resolver.prototype.cats);
      context.setType('graphql');
      return context;
    };
    const guard = app.get(SpillwayGuard);
    const [one, two] = [{ fieldName: 'one' }, { fieldName: 'two' }];
    for (const info of [one, two]) expect(await guard.canActivate(fieldOf(info))).toBe(true);
    // A parameter's decorator receives another context object with the same arguments.
    expect(rows.of(fieldOf(one)).settle(3)).toBe(true);
    expect(rows.of(fieldOf(one)).settle(3)).toBe(false);
    expect(rows.of(fieldOf(two)).snapshot()).toMatchObject({ rows: { charged: 40 } });
    expect(rows.of(fieldOf(one)).snapshot()).toMatchObject({ rows: { charged: 3 } });
  });
});
