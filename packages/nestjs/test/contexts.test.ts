/** Calls that are not HTTP requests by themselves: messages over WebSockets, and fields of a GraphQL operation. */

import { type EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import {
  ConcurrencyLimit,
  concurrencyLimit,
  type Fault,
  idempotency,
  RateLimit,
  rateLimit,
  SpillwayGuard,
  SpillwayModule,
  type SpillwayOptions,
} from '@spillway/nestjs';
import { NEVER, type Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { PLATFORMS, serve, until } from './service.js';

const [[, { adapter }]] = PLATFORMS;

interface Client {
  send(text: string): void;
}

/** Sends the exception to the client. */
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

/** A gateway and its client. Each answer of the gateway is for the message sent before it. */
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
  // The platform's own WebSocket; Node has it from version 22.
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

  it('counts messages past the idempotency keys of the module, which are for HTTP', async () => {
    const faults: Fault[] = [];
    const limiters = [
      idempotency({ scope: () => 'ada', required: true }),
      rateLimit({ name: 'one', limit: 1, window: '1h' }),
    ];
    const { ask } = await connected({ limiters, onFault: (fault) => faults.push(fault) });
    expect(await ask('plain')).toEqual({ event: 'plain', data: 'done' });
    expect(await ask('plain')).toMatchObject({ event: 'exception', data: { status: 429 } });
    expect(await ask('quick')).toMatchObject({ data: { 'violated-policies': ['one'] } });
    expect(faults).toEqual([]);
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
