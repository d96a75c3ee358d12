/** Calls that are no HTTP requests of their own: messages over WebSockets, and fields of a GraphQL operation. */

import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  type INestApplication,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import {
  admissionsOf,
  ConcurrencyLimit,
  concurrencyLimit,
  type Fault,
  memoryStore,
  RateLimit,
  rateLimit,
  requestOf,
  SpillwayException,
  SpillwayGuard,
  SpillwayModule,
  type SpillwayOptions,
  type Step,
} from '@spillway/nestjs';
import { NEVER, type Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { create, PLATFORMS, serve, until } from './service.js';

const [{ adapter }] = PLATFORMS;

interface Client {
  send(text: string): void;
}

/** Sends the client what was thrown. */
@Catch()
class ToClient implements ExceptionFilter {
  catch(exception: { getError?(): unknown }, host: ArgumentsHost): void {
    const client = host.switchToWs().getClient<Client>();
    client.send(JSON.stringify({ event: 'exception', data: exception.getError?.() ?? null }));
  }
}

@WebSocketGateway({ path: '/ws' })
@UseFilters(new ToClient())
@UseGuards(SpillwayGuard) // Nest has no global guards before gateways
class CatsGateway {
  static running = 0;

  @SubscribeMessage('quick')
  @RateLimit({ limit: 2, window: '1h' })
  quick(): object {
    return { event: 'quick', data: 'done' };
  }

  @SubscribeMessage('slow')
  @ConcurrencyLimit({ limit: 1 })
  slow(): Observable<object> {
    CatsGateway.running += 1;
    return NEVER;
  }

  @SubscribeMessage('short')
  @ConcurrencyLimit({ limit: 1 })
  short(): Observable<object> {
    return of({ event: 'short', data: 'done' });
  }

  @SubscribeMessage('throws')
  @ConcurrencyLimit({ limit: 1 })
  throws(): never {
    throw new WsException('mine');
  }

  @SubscribeMessage('plain')
  plain(): object {
    return { event: 'plain', data: 'done' };
  }
}

/** A gateway, and a client that asks it: each answer is that of the message before it. */
async function connected(options: SpillwayOptions = {}) {
  const metadata = { imports: [SpillwayModule.forRoot(options)], providers: [CatsGateway] };
  const { port } = await serve(adapter, metadata, (app) => {
    app.useWebSocketAdapter(new WsAdapter(app));
  });
  return { port, ...(await connect(port)) };
}

interface Socket extends EventEmitter, Client {
  close(): void;
}

const require = createRequire(import.meta.url);

type Answer = { event: string; data: unknown };

async function connect(port: number) {
  // The platform's own; Node has one from version 22.
  const { WebSocket } = createRequire(require.resolve('@nestjs/platform-ws'))('ws');
  const socket: Socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  await once(socket, 'open');
  const send = (event: string): void => socket.send(JSON.stringify({ event, data: {} }));
  const ask = async (event: string): Promise<Answer> => {
    const answered = once(socket, 'message');
    send(event);
    return JSON.parse(String((await answered)[0])) as Answer;
  };
  return { socket, send, ask };
}

describe('over WebSockets', () => {
  it('limits each message, and throws the problem where a refusal has no response', async () => {
    const { ask } = await connected();
    expect(await ask('quick')).toEqual({ event: 'quick', data: 'done' });
    await ask('quick');
    expect(await ask('quick')).toMatchObject({
      event: 'exception',
      data: { status: 429, 'violated-policies': ['CatsGateway.quick'] },
    });
  });

  it('throws the exception that the app makes', async () => {
    const limiters = [rateLimit({ name: 'one', limit: 1, window: '1h' })];
    const exception = () => new WsException('slow down');
    const { ask } = await connected({ limiters, exception });
    expect(await ask('plain')).toEqual({ event: 'plain', data: 'done' });
    expect(await ask('plain')).toEqual({ event: 'exception', data: 'slow down' });
  });

  it('counts by the address of the socket', async () => {
    const seen: unknown[] = [];
    const key = (request: object): undefined => {
      const { method, path, route, clientIp } = request as Record<string, unknown>;
      seen.push({ method, path, route, clientIp });
    };
    const { ask } = await connected({ limiters: [rateLimit({ limit: 9, window: '1h', key })] });
    await ask('plain');
    expect(seen).toEqual([
      { method: 'POST', path: 'plain', route: 'plain', clientIp: '127.0.0.1' },
    ]);
  });

  it('holds a permit until the handler has ended, or the client is gone', async () => {
    const { port, socket, send, ask } = await connected();
    const before = CatsGateway.running;
    send('slow');
    await until(() => CatsGateway.running === before + 1);
    expect(await ask('slow')).toMatchObject({
      event: 'exception',
      data: { 'violated-policies': ['CatsGateway.slow.concurrent'] },
    });
    socket.close();
    await once(socket, 'close');
    const other = await connect(port);
    other.send('slow');
    await until(() => CatsGateway.running === before + 2);
  });

  it('gives permits back of handlers that end and that throw', async () => {
    const { ask } = await connected();
    for (let i = 0; i < 3; i += 1) {
      expect(await ask('short')).toEqual({ event: 'short', data: 'done' });
      expect(await ask('throws')).toEqual({ event: 'exception', data: 'mine' });
    }
  });

  it('holds no permit of which nobody sees the end, and says so', async () => {
    const faults: Fault[] = [];
    const limiters = [concurrencyLimit({ name: 'front', limit: 1 })];
    const { ask } = await connected({ limiters, onFault: (fault) => faults.push(fault) });
    expect(await ask('plain')).toEqual({ event: 'plain', data: 'done' });
    expect(await ask('plain')).toEqual({ event: 'plain', data: 'done' });
    expect(faults).toMatchObject(
      [1, 2].map(() => ({ source: 'adapter', error: { code: 'SPW_INTERCEPTOR_MISSING' } })),
    );
  });
});

/** A response of which a test says when it closes. */
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

/** What GraphQL gives a guard for a field: the root, the arguments, the context of the app, and what is asked. */
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
    await expect(judge(operation())).rejects.toThrow('too many requests in progress');
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
    const { app, judge } = await make({ limiters, store: { sync: true, apply } });
    await judge(operation());
    expect(puts).toEqual([]);
    await app.close();
    expect(puts).toEqual(['front']);
  });
});
