/** A fake of Upstash: Redis over HTTP, with the REST protocol of `@upstash/redis`. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Redis } from 'ioredis';

export type Fault = 'none' | 'status-500' | 'hang';

type Command = readonly [string, ...(string | number)[]];
type Reply = { readonly result: unknown } | { readonly error: string };

export class UpstashServer {
  readonly url: string;
  readonly token = 'secret';
  fault: Fault = 'none';
  readonly requests: number[] = [];
  private readonly close: () => Promise<void>;

  private constructor(port: number, close: () => Promise<void>) {
    this.url = `http://127.0.0.1:${port}`;
    this.close = close;
  }

  static start(redis: Redis, port = 0): Promise<UpstashServer> {
    return new Promise((resolve) => {
      const server = createServer((request, response) => void own.answer(redis, request, response));
      let own: UpstashServer;
      server.listen(port, '127.0.0.1', () => {
        own = new UpstashServer((server.address() as AddressInfo).port, async () => {
          server.closeAllConnections();
          await new Promise((closed) => server.close(closed));
        });
        resolve(own);
      });
    });
  }

  stop(): Promise<void> {
    return this.close();
  }

  private async answer(redis: Redis, request: IncomingMessage, response: ServerResponse) {
    const body = JSON.parse(await textOf(request));
    const commands: Command[] = request.url === '/pipeline' ? body : [body];
    this.requests.push(commands.length);
    if (this.fault === 'hang') return;
    if (this.fault === 'status-500') return send(response, 500, { error: 'Internal error' });
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      return send(response, 401, { error: 'Unauthorized' });
    }
    const encode =
      request.headers['upstash-encoding'] === 'base64' ? base64 : (value: unknown) => value;
    const replies = await Promise.all(commands.map((command) => run(redis, command, encode)));
    if (request.url === '/pipeline') return send(response, 200, replies);
    const [reply] = replies as [Reply];
    send(response, 'error' in reply ? 400 : 200, reply);
  }
}

async function run(
  redis: Redis,
  command: Command,
  encode: (value: unknown) => unknown,
): Promise<Reply> {
  const [name, ...args] = command;
  try {
    return { result: encode(await redis.call(name, ...args)) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/** Encodes strings in base64, as Upstash does to send any bytes in JSON. */
function base64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(base64);
  return typeof value === 'string' ? Buffer.from(value).toString('base64') : value;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
