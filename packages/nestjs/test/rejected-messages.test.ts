/** What clients of GraphQL and of WebSocket gateways receive for a rejection, and what Nest logs about it. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  HttpException,
  type LoggerService,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import {
  type Admission,
  ConcurrencyLimit,
  type Limiter,
  type LimitRequest,
  rateLimit,
  SkipRateLimit,
  SpillwayException,
  SpillwayGuard,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import { ManualClock } from '@spillway/nestjs/testing';
import { NEVER, type Observable } from 'rxjs';
import { io } from 'socket.io-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PLATFORMS, serve, until } from './service.js';

const [[, { adapter }]] = PLATFORMS;

/** What an app logs as warnings and errors. */
function logOf() {
  const lines: unknown[] = [];
  const write = (...line: unknown[]) => void lines.push(line);
  const logger: LoggerService = { log: () => undefined, warn: write, error: write, fatal: write };
  return { lines, logger };
}

const one = (): Limiter<ExecutionContext> => rateLimit({ name: 'api', limit: 1, window: '1m' });
/** Rejects everything as a load shedder does. */
const overloaded = (): Limiter<ExecutionContext> => ({
  kind: 'local',
  name: 'workers',
  mode: 'enforce',
  decide: () => ({
    limiter: 'workers',
    allowed: false,
    outcome: 'denied',
    reason: 'overload',
    cost: 1,
    used: Number.NaN,
    remaining: 0,
    retryAfterMs: 1_000,
    resetMs: Number.NaN,
  }),
});

/** The examples of the page, in order: the response of GraphQL, and the frame of a gateway on ws. */
const [GRAPHQL, FRAME] = [
  ...readFileSync('docs/nestjs.md', 'utf8').matchAll(/```json\n([^`]+)```/g),
].map(([, json]) => JSON.parse(json as string));

@Resolver()
class CatsResolver {
  @Query(() => String, { nullable: true })
  cat(): string {
    return 'Tom';
  }
}

describe('GraphQL with Apollo', () => {
  const ask = async (limiters: Limiter<ExecutionContext>[]) => {
    const { lines, logger } = logOf();
    const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({
      driver: ApolloDriver,
      autoSchemaFile: true,
      includeStacktraceInErrorResponses: false,
    });
    const spillway = SpillwayModule.forRoot({ limiters, clock: new ManualClock() });
    const imports = [graphql, spillway];
    const { port } = await serve(adapter, { imports, providers: [CatsResolver] }, (app) =>
      app.useLogger(logger),
    );
    const query = async () => {
      const reply = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ query: '{ cat }' }),
      });
      return { status: reply.status, ...((await reply.json()) as object) };
    };
    return { query, lines };
  };

  it('answers RATE_LIMITED, and logs nothing', async () => {
    const { query, lines } = await ask([one()]);
    expect(await query()).toEqual({ status: 200, data: { cat: 'Tom' } });
    expect(await query()).toEqual({ status: 200, ...GRAPHQL });
    expect(lines).toEqual([]);
  });

  it('answers OVERLOADED for a load shedder', async () => {
    const { query, lines } = await ask([overloaded()]);
    expect(await query()).toMatchObject({ errors: [{ extensions: { code: 'OVERLOADED' } }] });
    expect(lines).toEqual([]);
  });
});

@WebSocketGateway()
@UseGuards(SpillwayGuard)
class CatsGateway {
  @SubscribeMessage('cat')
  cat(): unknown {
    return { event: 'cat', data: 'Tom' };
  }

  @SubscribeMessage('after')
  @SkipRateLimit()
  after(): unknown {
    return { event: 'after', data: '' };
  }

  @SubscribeMessage('slow')
  @ConcurrencyLimit({ name: 'slow', limit: 1 })
  slow(): Observable<never> {
    return NEVER;
  }
}

@Catch(SpillwayException)
class OwnFilter implements ExceptionFilter {
  catch({ admission }: SpillwayException, host: ArgumentsHost): void {
    const data = { mine: admission.status };
    const [client, , ack] = host.getArgs();
    if (client.nsp) client.emit('exception', data);
    else client.send(JSON.stringify({ event: 'exception', data }));
    if (typeof ack === 'function') ack('mine');
  }
}

@Catch(RangeError)
class OtherFilter implements ExceptionFilter {
  catch(): void {}
}

@WebSocketGateway()
@UseFilters(new OwnFilter())
class FilteredGateway extends CatsGateway {}

@WebSocketGateway()
@UseFilters(OtherFilter)
class OtherGateway extends CatsGateway {}

interface Frame {
  readonly event: string;
  readonly data: unknown;
}

interface Client {
  /** Sends a message. */
  emit(event: string): void;
  /** Sends a message, and returns what the server had sent when it answered the next one. */
  send(event: string): Promise<Frame[]>;
}

async function serveGateway(
  make: 'ws' | 'socket.io',
  options: SpillwayOptions,
  Gateway: new () => object = CatsGateway,
) {
  const { lines, logger } = logOf();
  const imports = [SpillwayModule.forRoot({ clock: new ManualClock(), ...options })];
  const { port } = await serve(adapter, { imports, providers: [Gateway] }, (app) => {
    app.useLogger(logger);
    app.useWebSocketAdapter(make === 'ws' ? new WsAdapter(app) : new IoAdapter(app));
  });
  return { port, lines };
}

const require = createRequire(import.meta.url);

function clientOf(frames: Frame[], emit: Client['emit']): Client {
  const send = async (event: string): Promise<Frame[]> => {
    emit(event);
    emit('after');
    await until(() => frames.at(-1)?.event === 'after');
    return frames.splice(0).slice(0, -1);
  };
  return { emit, send };
}

async function overWs(port: number): Promise<Client> {
  const { WebSocket } = createRequire(require.resolve('@nestjs/platform-ws'))('ws');
  const socket = new WebSocket(`ws://127.0.0.1:${port}`);
  onTestFinished(() => socket.terminate());
  const frames: Frame[] = [];
  socket.on('message', (text: Buffer) => frames.push(JSON.parse(String(text))));
  await once(socket, 'open');
  return clientOf(frames, (event) => socket.send(JSON.stringify({ event, data: 'which' })));
}

function connectIo(port: number) {
  const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'] });
  onTestFinished(() => void socket.disconnect());
  return socket;
}

async function overIo(port: number): Promise<Client> {
  const socket = connectIo(port);
  const frames: Frame[] = [];
  socket.onAny((event, data) => frames.push({ event, data }));
  return clientOf(frames, (event) => socket.emit(event, 'which'));
}

describe.each([
  ['ws', overWs],
  ['socket.io', overIo],
] as const)('a gateway on %s', (name, connect) => {
  const serveIt = async (options: SpillwayOptions, Gateway?: new () => object) => {
    const { port, lines } = await serveGateway(name, options, Gateway);
    return { ...(await connect(port)), lines };
  };

  it('tells the client of each rejection once, and logs nothing', async () => {
    const { send, lines } = await serveIt({ limiters: [one()] });
    expect(await send('cat')).toEqual([{ event: 'cat', data: 'Tom' }]);
    expect(await send('cat')).toEqual([FRAME]);
    expect(await send('cat')).toEqual([FRAME]);
    expect(lines).toEqual([]);
  });

  it('decides each message as a POST whose path is its pattern, by the address of the socket', async () => {
    const seen: unknown[] = [];
    const key = ({ method, path, route, clientIp }: LimitRequest): undefined => {
      if (route !== 'after') seen.push({ method, path, route, clientIp });
    };
    const { send } = await serveIt({ limiters: [rateLimit({ limit: 9, window: '1h', key })] });
    await send('cat');
    expect(seen).toEqual([{ method: 'POST', path: 'cat', route: 'cat', clientIp: '127.0.0.1' }]);
  });

  it('tells OVERLOADED for a load shedder', async () => {
    const { send, lines } = await serveIt({ limiters: [overloaded()] });
    expect(await send('cat')).toMatchObject([
      { event: 'exception', data: { status: 503, code: 'OVERLOADED' } },
    ]);
    expect(lines).toEqual([]);
  });

  it('tells of a permit that the interceptor did not get', async () => {
    const { emit, send, lines } = await serveIt({});
    emit('slow');
    expect(await send('slow')).toMatchObject([
      { event: 'exception', data: { code: 'RATE_LIMITED', 'violated-policies': ['slow'] } },
    ]);
    expect(lines).toEqual([]);
  });

  it.each([
    ['an object', () => new WsException({ mine: 1 }), { mine: 1 }],
    ['a text', () => new WsException('slow down'), { status: 'error', message: 'slow down' }],
    ['an HttpException', () => new HttpException({ mine: 1 }, 429), { mine: 1 }],
    ['an Error', () => new Error('mine'), { status: 'error', message: 'mine' }],
  ])("tells the client what is in the app's exception: %s", async (_, exception, data) => {
    const { send, lines } = await serveIt({ limiters: [one()], exception });
    await send('cat');
    expect(await send('cat')).toEqual([{ event: 'exception', data }]);
    expect(lines).toEqual([]);
  });

  it('leaves the answer to a filter of the gateway', async () => {
    const { send } = await serveIt({ limiters: [one()] }, FilteredGateway);
    await send('cat');
    expect(await send('cat')).toEqual([{ event: 'exception', data: { mine: 429 } }]);
  });

  it('tells the client where the filter of the gateway catches something else', async () => {
    const { send } = await serveIt({ limiters: [one()] }, OtherGateway);
    await send('cat');
    expect(await send('cat')).toEqual([FRAME]);
  });
});

describe('an acknowledgement of socket.io', () => {
  it('gets the rejection, unless a filter answers', async () => {
    for (const [Gateway, answer] of [
      [CatsGateway, FRAME.data],
      [FilteredGateway, 'mine'],
    ] as const) {
      const { port } = await serveGateway('socket.io', { limiters: [one()] }, Gateway);
      const socket = connectIo(port);
      const told = new Promise((resolve) => socket.once('cat', resolve));
      socket.emit('cat', 'which');
      await told;
      expect(await socket.timeout(5_000).emitWithAck('cat', 'which')).toEqual(answer);
    }
  });
});

describe('the code of a SpillwayException', () => {
  it.each([
    ['RATE_LIMITED', 429, 'rate'],
    ['RATE_LIMITED', 429, 'concurrency'],
    ['FORBIDDEN', 403, 'blocked'],
    ['BAD_REQUEST', 409, 'running'],
    ['OVERLOADED', 503, 'capacity'],
    ['OVERLOADED', 503, 'overload'],
    ['UNAVAILABLE', 503, 'store-error'],
  ])('is %s for status %i and reason %s', (code, status, reason) => {
    const binding = { reason, retryAfterMs: Number.POSITIVE_INFINITY };
    const { extensions } = new SpillwayException({ status, binding, body: '{}' } as Admission);
    expect(extensions).toEqual({ code }); // waiting does not help
  });
});
