/** A real server for a listener, and requests that show the whole response as it was sent. */

import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** The headers exactly as they were sent, in order, without those that Node and Express add. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

export interface Service {
  readonly port: number;
  get(path?: string, options?: http.RequestOptions): Promise<Reply>;
  /** Creates a request. The caller must send it. */
  open(path?: string, options?: http.RequestOptions): http.ClientRequest;
  /** Sends raw text, and reads until the connection ends. */
  raw(text: string): Promise<string>;
}

const OF_NODE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'x-powered-by']);

export async function serveListener(
  listener: http.RequestListener,
  host = '127.0.0.1',
): Promise<Service> {
  const server = http.createServer(listener).listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return requestsTo((server.address() as AddressInfo).port, host);
}

export function requestsTo(port: number, host = '127.0.0.1'): Service {
  const open = (path = '/', options: http.RequestOptions = {}): http.ClientRequest =>
    http.request({ host, port, path, agent: false, ...options });
  return {
    port,
    open,
    get: (path, options) => read(open(path, options)),
    async raw(text) {
      const socket = net.connect(port, host);
      socket.end(text);
      let reply = '';
      for await (const chunk of socket) reply += String(chunk);
      return reply;
    },
  };
}

async function read(request: http.ClientRequest): Promise<Reply> {
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  const { rawHeaders, headers, statusCode = 0 } = response;
  const pairs = rawHeaders.map((name, at) => [name, rawHeaders[at + 1] ?? ''] as const);
  const fields = pairs.filter(([name], at) => at % 2 === 0 && !OF_NODE.has(name.toLowerCase()));
  return { status: statusCode, headers, fields, body };
}
