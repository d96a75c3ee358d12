/**
 * Sends HTTP requests that can be aborted at any time, and shows every header line of the replies. Uses node:http,
 * because fetch merges lines of one name.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

export interface Reply {
  readonly request: string;
  readonly status: number;
  /** Each header line: the name in lower case, the value as it was sent. */
  readonly lines: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** A reply whose head and first bytes have arrived. */
export interface Opened {
  readonly reply: Reply;
  rest(): Promise<string>;
  abort(): void;
}

export interface RawConnection {
  received(): string;
  ended(): Promise<void>;
  abort(): void;
}

const PATIENCE_MS = 15_000;

export class Wire {
  private readonly opened = new Set<{ destroy(): unknown }>();
  readonly url: URL;

  constructor(url: URL) {
    this.url = url;
  }

  async sendRequest(path: string, ask: Ask = {}): Promise<ClientRequest> {
    const { method = 'GET', headers = {}, body } = ask;
    // Imported lazily, because the rest of this package must load on hosts without node:http.
    const { request: open } =
      this.url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    const request = open(new URL(path, this.url), { method, headers, agent: false });
    this.opened.add(request);
    request.setTimeout(PATIENCE_MS, () =>
      request.destroy(new Error(`${method} ${path}: received nothing for ${PATIENCE_MS} ms`)),
    );
    request.on('error', () => undefined); // callers that wait for the reply add their own listener
    request.end(body);
    return request;
  }

  async openReply(path: string, ask: Ask = {}): Promise<Opened> {
    const request = await this.sendRequest(path, ask);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      request.once('error', reject);
    });
    const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const text = new TextDecoder();
    const first = await chunks.next();
    let body = first.done ? '' : text.decode(first.value, { stream: true });
    const { statusCode = 0, rawHeaders } = response;
    const lines = linesOf(rawHeaders);
    const line = `${ask.method ?? 'GET'} ${path}`;
    return {
      reply: { request: line, status: statusCode, lines, body },
      async rest() {
        for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
          body += text.decode(next.value, { stream: true });
        }
        return body;
      },
      abort: () => void request.destroy(),
    };
  }

  async request(path: string, ask: Ask = {}): Promise<Reply> {
    const { reply, rest } = await this.openReply(path, ask);
    return { ...reply, body: await rest() };
  }

  async raw(text: string): Promise<RawConnection> {
    const { connect } = await import('node:net');
    const socket = connect(Number(this.url.port || 80), this.url.hostname.replace(/[[\]]/g, ''));
    this.opened.add(socket);
    let received = '';
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    socket.on('error', () => undefined);
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.write(text);
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    return { received: () => received, ended: () => ended, abort: () => socket.destroy() };
  }

  abortRequests(): void {
    for (const one of this.opened) one.destroy();
  }
}

function linesOf(raw: readonly string[]): Reply['lines'] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ''] as const] : [],
  );
}
