/** Idempotency keys in Nest, on both platforms. */

import { Readable } from 'node:stream';
import fastifyCompress from '@fastify/compress';
import {
  All,
  type CallHandler,
  Controller,
  HttpException,
  Post,
  Req,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import {
  claimOf,
  Idempotent,
  idempotency,
  rateLimit,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import compression from 'compression';
import { Observable, of, take } from 'rxjs';
import {
  askAt,
  latch,
  type OnceAnswer,
  type OnceApp,
  type OnceWorld,
  repeats,
  repeatsAfterDepartures,
  repeatsRewritten,
  repeatsUncompressed,
} from 'spillway-testkit/adapters';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { create, type MakeAdapter, PLATFORMS, serve } from './service.js';

interface Place {
  readonly adapter: MakeAdapter;
  readonly isFastify: boolean;
}

const PLACES: readonly (readonly [string, Place])[] = PLATFORMS.map(([name, { adapter }]) => [
  name,
  { adapter, isFastify: name === 'Fastify' },
]);

function worldOf({ adapter, isFastify }: Place): OnceWorld {
  return {
    idempotency: idempotency as OnceWorld['idempotency'],
    rateLimit: rateLimit as OnceWorld['rateLimit'],
    compressions: ['before'],
    parsers: [true], // Nest's guards run after the parser
    async serve({ limiters, compression: place, rewrite, handle }) {
      const options = { limiters: limiters as SpillwayOptions['limiters'] };
      const imports = [SpillwayModule.forRoot(options)];
      const metadata = { imports, controllers: [controllerOf(handle)] };
      const rewriteUrl =
        rewrite && (({ url }: { url?: string | undefined }) => rewrite(url ?? '/'));
      const own = isFastify && rewriteUrl ? () => new FastifyAdapter({ rewriteUrl }) : adapter;
      const { port } = await serve(own, metadata, async (app) => {
        if (rewrite && !isFastify) {
          app.use((req: { url: string }, _res: unknown, next: () => void) => {
            req.url = rewrite(req.url);
            next();
          });
        }
        if (place && isFastify) await app.getHttpAdapter().getInstance().register(fastifyCompress);
        else if (place) app.use(compression());
      });
      return askAt(port);
    },
  };
}

interface PlatformReply {
  status(status: number): PlatformReply;
  header(name: string, value: string): PlatformReply;
  send(body?: unknown): unknown;
}

function controllerOf(handle: OnceApp['handle']): new () => object {
  class Charges {
    async charge(request: Request & { body?: unknown }, reply: PlatformReply): Promise<unknown> {
      const read = async () => request.body;
      const answer: OnceAnswer = await handle({ path: request.url, claim: claimOf(request), read });
      reply.status(answer.status ?? 200);
      for (const [name, value] of Object.entries(answer.headers ?? {})) reply.header(name, value);
      const { body, json } = answer;
      if (json) return json;
      const type = answer.headers?.['content-type'] ?? 'application/octet-stream';
      if (body instanceof Readable) return new StreamableFile(body, { type });
      if (body instanceof Uint8Array) return new StreamableFile(body, { type });
      return body;
    }
  }
  Controller()(Charges);
  const descriptor = Object.getOwnPropertyDescriptor(Charges.prototype, 'charge');
  All(['charges', 'refunds'])(Charges.prototype, 'charge', descriptor as PropertyDescriptor);
  Req()(Charges.prototype, 'charge', 0);
  Res({ passthrough: true })(Charges.prototype, 'charge', 1);
  return Charges;
}

let runs = 0;
const scope = () => 'ada';

@Controller()
class Answers {
  @Post('promise')
  @Idempotent({ scope })
  async promise(): Promise<object> {
    runs += 1;
    return { a: 1 };
  }

  @Post('observable')
  @Idempotent({ scope })
  observable(): Observable<object> {
    runs += 1;
    return of({ a: 1 });
  }

  @Post('exception')
  @Idempotent({ scope })
  exception(): never {
    runs += 1;
    throw new HttpException('no money', 402);
  }

  @Post('by-hand')
  @Idempotent({ scope })
  byHand(reply: PlatformReply): void {
    runs += 1;
    reply.status(202).header('location', '/1').send('by hand');
  }

  @Post('nothing')
  @Idempotent({ scope })
  nothing(): void {
    runs += 1;
  }
}

@Controller()
class Longer {
  @Post('longer')
  @Idempotent({ scope, lease: '1m' })
  longer(): string {
    return 'longer';
  }
}

Res()(Answers.prototype, 'byHand', 0);

describe.each(PLACES)('Nest on %s', (_, place) => {
  const world = worldOf(place);
  repeats(world);
  if (!place.isFastify) repeatsUncompressed(world);
  repeatsAfterDepartures(world);
  repeatsRewritten(world);

  it.each(['promise', 'observable', 'exception', 'by-hand', 'nothing'])(
    'keeps the answer of a decorated method: %s',
    async (path) => {
      runs = 0;
      const metadata = { imports: [SpillwayModule.forRoot()], controllers: [Answers] };
      const { port } = await serve(place.adapter, metadata);
      const { ask } = askAt(port);
      const first = await ask({ path: `/${path}` });
      const again = await ask({ path: `/${path}` });
      expect([again.status, String(again.bytes), runs]).toEqual([
        first.status,
        String(first.bytes),
        1,
      ]);
      expect(again.headers['idempotency-replayed']).toBe('true');
      for (const name of ['content-type', 'location']) {
        expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
      }
    },
  );

  it('ends the claim of an Observable that Nest drops when the client leaves', async () => {
    const arrived = latch();
    const dropped = latch();
    runs = 0;
    @Controller()
    class Slow {
      @Post('charges')
      @Idempotent({ scope })
      charge(): Observable<object> {
        runs += 1;
        arrived.open();
        return new Observable(() => dropped.open);
      }
    }
    const metadata = { imports: [SpillwayModule.forRoot()], controllers: [Slow] };
    const { ask, open } = askAt((await serve(place.adapter, metadata)).port);
    const client = (open as NonNullable<typeof open>)();
    client.on('error', () => undefined);
    await arrived.opened;
    expect(String((await ask()).bytes)).toMatch(/in progress/);
    client.destroy();
    await dropped.opened;
    await expect.poll(async () => String((await ask()).bytes)).toMatch(/not stored/);
    expect(runs).toBe(1);
  });

  it('records what an interceptor sends of the first value although the client has left', async () => {
    const arrived = latch();
    const answered = latch();
    runs = 0;
    @Controller()
    @UseInterceptors({ intercept: (_: unknown, next: CallHandler) => next.handle().pipe(take(1)) })
    class Late {
      @Post('charges')
      @Idempotent({ scope })
      async charge(): Promise<object> {
        runs += 1;
        arrived.open();
        await answered.opened;
        return { charged: true };
      }
    }
    const metadata = { imports: [SpillwayModule.forRoot()], controllers: [Late] };
    const { ask, open } = askAt((await serve(place.adapter, metadata)).port);
    const client = (open as NonNullable<typeof open>)();
    client.on('error', () => undefined);
    await arrived.opened;
    const gone = new Promise((resolve) => client.on('close', resolve));
    client.destroy();
    await gone;
    expect(String((await ask()).bytes)).toMatch(/in progress/);
    answered.open();
    await expect.poll(async () => (await ask()).headers['idempotency-replayed']).toBe('true');
    expect(runs).toBe(1);
  });

  it('leaves no timer behind an answer that was sent', async () => {
    @Controller()
    @UseInterceptors({ intercept: (_: unknown, next: CallHandler) => next.handle().pipe(take(1)) })
    class First {
      @Post('charges')
      @Idempotent({ scope })
      charge(): Observable<object> {
        return of({ charged: true }, {});
      }
    }
    const metadata = { imports: [SpillwayModule.forRoot()], controllers: [First] };
    const { ask } = askAt((await serve(place.adapter, metadata)).port);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(String((await ask()).bytes)).toBe('{"charged":true}');
    // Renewals of claims have shorter timers, and end when the server sees the response close.
    for (let turn = 0; turn < 500 && vi.getTimerCount() > 0; turn += 1) {
      await new Promise(setImmediate);
      vi.advanceTimersByTime(1);
    }
    expect(vi.getTimerCount()).toBe(0);
  });

  it('answers 422 to the key of one method at another', async () => {
    const metadata = { imports: [SpillwayModule.forRoot()], controllers: [Answers] };
    const { ask } = askAt((await serve(place.adapter, metadata)).port);
    await ask({ path: '/promise' });
    expect((await ask({ path: '/observable' })).status).toBe(422);
  });

  it('overrides the one of the module by its name', async () => {
    const limiters = [idempotency({ scope: () => undefined })];
    const metadata = { imports: [SpillwayModule.forRoot({ limiters })], controllers: [Longer] };
    const { ask } = askAt((await serve(place.adapter, metadata)).port);
    expect((await ask({ path: '/longer' })).status).toBe(201);
    expect((await ask({ path: '/longer' })).headers['idempotency-replayed']).toBe('true');
  });
});

describe('@Idempotent', () => {
  it('throws where it stands for wrong options, and for a second one of its name', () => {
    expect(() => Idempotent({} as never)).toThrow('SPW_SCOPE_INVALID');
    expect(() => {
      class Twice {
        @Idempotent({ scope })
        @Idempotent({ scope, lease: '1m' })
        charge(): void {}
      }
      return Twice;
    }).toThrow('SPW_NAME_CONFLICT');
  });

  it('throws on a method that is no HTTP route when the app is made', async () => {
    @WebSocketGateway()
    class Charges {
      @SubscribeMessage('charge')
      @Idempotent({ scope })
      charge(): void {}
    }
    const metadata = { imports: [SpillwayModule.forRoot()], providers: [Charges] };
    const app = await create(PLATFORMS[0][1].adapter, metadata);
    app.useWebSocketAdapter(new WsAdapter(app));
    await expect(app.init()).rejects.toThrow('SPW_CAPTURE_MISSING');
  });
});
