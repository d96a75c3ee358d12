import { utf8Bytes } from '../base/utf8.js';
import type { ResponseWatcher } from '../contract/recorder.js';
import {
  type WebController,
  type WebReader,
  type WebResponse,
  type WebSignal,
  type WebSource,
  webClasses,
} from './web.js';

interface WatchedResponse<Res> {
  readonly response: Res;
  /** Set for a response without a body that the watcher holds back: settles when the response may be sent. */
  readonly kept: Promise<void> | undefined;
}

/**
 * Records `response` with `watcher`, and returns the response to send. `sendsBody` is false for HEAD. A value that is
 * not a response is not recorded, and only the head of one whose body was already read.
 */
export function watchResponse<Res extends WebResponse>(
  response: Res,
  watcher: ResponseWatcher,
  signal: WebSignal | null | undefined,
  sendsBody: boolean,
): WatchedResponse<Res> {
  if (!response?.headers) return { response, kept: undefined };
  // `body` is read first, because @hono/node-server then replaces the headers by some with the type of the body.
  const { status, body, headers } = response;
  watcher.head(status, (name) => headers.get(name) ?? undefined);
  if (!body || !sendsBody) return { response, kept: watcher.end() };
  try {
    const { Response, ReadableStream } = webClasses();
    const source = new AnswerBody(body, watcher, signal);
    const stream = new ReadableStream(source, { highWaterMark: 0 }); // no read-ahead
    return { response: new Response(stream, response) as Res, kept: undefined };
  } catch {
    watcher.fail(); // the body was read or is locked, so the response can't be sent either
    return { response, kept: undefined };
  }
}

type Chunk = Awaited<ReturnType<WebReader['read']>>;

/** If the client goes away, the rest is still read, but only while the watcher wants more bytes. */
class AnswerBody implements WebSource {
  private readonly reader: WebReader;
  private readonly watcher: ResponseWatcher;
  private readonly signal: WebSignal | null | undefined;
  private isWanted = true;
  private isLeft = false;

  constructor(body: object, watcher: ResponseWatcher, signal: WebSignal | null | undefined) {
    this.reader = (body as { getReader(): WebReader }).getReader();
    this.watcher = watcher;
    this.signal = signal;
    if (signal?.aborted) void this.readRest();
    else signal?.addEventListener('abort', this.abort);
  }

  async pull(controller: WebController): Promise<void> {
    if (this.isLeft) {
      // The watcher reads the rest, so a reader that goes on would miss parts of the body.
      // With this code, @hono/node-server logs no stack.
      const code = 'ERR_STREAM_PREMATURE_CLOSE';
      controller.error(Object.assign(new Error('the request was aborted'), { code }));
      return;
    }
    let chunk: Chunk;
    try {
      chunk = await this.readChunk();
    } catch (error) {
      this.watcher.fail();
      controller.error(error);
      return;
    }
    try {
      if (!chunk.done) {
        controller.enqueue(chunk.value);
        return;
      }
      await this.endWatching();
      controller.close();
    } catch (error) {
      controller.error(error);
    }
  }

  cancel(): Promise<void> {
    return this.readRest();
  }

  private readonly abort = (): void => void this.readRest();

  private async readRest(): Promise<void> {
    if (this.isLeft) return;
    this.isLeft = true;
    try {
      while (this.isWanted) {
        if (!(await this.readChunk()).done) continue;
        await this.endWatching();
        return;
      }
      this.watcher.fail();
      await this.reader.cancel(undefined);
    } catch {
      this.watcher.fail();
    }
  }

  private async readChunk(): Promise<Chunk> {
    const chunk = await this.reader.read();
    if (chunk.done) return chunk;
    const bytes = bytesOf(chunk.value);
    this.isWanted = bytes !== undefined && this.watcher.chunk(bytes);
    if (!bytes) this.watcher.fail();
    return chunk;
  }

  private endWatching(): Promise<void> | undefined {
    this.signal?.removeEventListener('abort', this.abort);
    return this.watcher.end();
  }
}

/** The bytes that runtimes send for a chunk: some accept more than `Uint8Array`. Undefined for any other value. */
function bytesOf(chunk: unknown): Uint8Array | undefined {
  if (typeof chunk === 'string') return utf8Bytes(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (!ArrayBuffer.isView(chunk)) return undefined;
  return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
