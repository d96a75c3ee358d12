import { after } from '../base/host.js';
import type { BodyEnd, BodyLimits, BodyWatcher } from '../contract/recorder.js';
import { showBytes } from '../passage/show-bytes.js';
import {
  type WebController,
  type WebReader,
  type WebRequest,
  type WebSource,
  webClasses,
} from './web.js';

type Read = () => Promise<unknown>;

interface ReadableRequest extends WebRequest {
  readonly body?: object | null;
  readonly bodyUsed?: boolean;
  readonly [method: string]: unknown;
}

/** Methods that read a whole body. Not all runtimes have `bytes`. */
const WHOLE = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'];

/**
 * Passes the bytes of a body to `watcher` when the handler reads it, by any method. Replaces only `body` and the
 * reading methods of the request object. Bytes that are read from a clone, or by a function that gets the request
 * itself (such as `fetch`), are not recorded.
 */
export function watchBody(request: WebRequest, watcher: BodyWatcher): void {
  const source = request as ReadableRequest;
  if (source.bodyUsed) return;
  const { body } = source;
  if (!body) {
    watcher.end();
    return;
  }
  const bodyNow = readerOfProperty(request, 'body');
  const whole = source.arrayBuffer as () => Promise<ArrayBuffer>;
  const readWhole = async (): Promise<ArrayBuffer> => {
    const { bodyUsed } = source;
    try {
      return await Reflect.apply(whole, request, []);
    } catch (error) {
      if (!bodyUsed) watcher.cut();
      throw error;
    }
  };
  for (const name of WHOLE) {
    if (typeof source[name] !== 'function') continue;
    const readWatched: Read = async () => {
      const bytes = new Uint8Array(await readWhole());
      await showBytes(watcher, bytes);
      watcher.end();
      return name === 'arrayBuffer' ? bytes.buffer : readAs(name, bytes, source);
    };
    Object.defineProperty(request, name, {
      value: readWatched,
      configurable: true,
      writable: true,
    });
  }
  let stream: object | undefined;
  const streamOf = (): object => {
    const { ReadableStream } = webClasses();
    stream ??= new ReadableStream(new WatchedBody(bodyNow, watcher), { highWaterMark: 0 });
    return stream;
  };
  Object.defineProperty(request, 'body', { get: streamOf, configurable: true });
}

/** Returns a function that reads the property as it is defined now, even if it is redefined later. */
function readerOfProperty(of: object, name: string): () => unknown {
  const own = Object.getOwnPropertyDescriptor(of, name);
  if (!own) return () => Reflect.get(Object.getPrototypeOf(of), name, of);
  return () => (own.get ? Reflect.apply(own.get, of, []) : own.value);
}

function readAs(name: string, bytes: Uint8Array, { headers }: WebRequest): Promise<unknown> {
  const { Response } = webClasses();
  const type = headers.get('content-type');
  const init = { status: 200, headers: type ? { 'Content-Type': type } : {} };
  const response = new Response(bytes, init) as unknown as { readonly [method: string]: Read };
  return (response[name] as Read).call(response);
}

/** A body read as a stream. It is looked up at the first read, because `clone()` may have replaced it. */
class WatchedBody implements WebSource {
  private reader: WebReader | undefined;
  private readonly body: () => unknown;
  private readonly watcher: BodyWatcher;

  constructor(body: () => unknown, watcher: BodyWatcher) {
    this.body = body;
    this.watcher = watcher;
  }

  async pull(controller: WebController): Promise<void> {
    this.reader ??= readerOf(this.body() as object);
    try {
      const { done, value } = await this.reader.read();
      if (!done) {
        await showBytes(this.watcher, value as Uint8Array);
        controller.enqueue(value);
        return;
      }
      this.watcher.end();
      controller.close();
    } catch (error) {
      this.watcher.cut();
      controller.error(error);
    }
  }

  async cancel(reason: unknown): Promise<void> {
    this.reader ??= readerOf(this.body() as object);
    await this.reader.cancel(reason);
  }
}

export async function readBody(
  request: WebRequest,
  watcher: BodyWatcher,
  { maxBytes, timeoutMs }: BodyLimits,
): Promise<BodyEnd> {
  const { body, bodyUsed } = request as ReadableRequest;
  if (bodyUsed) return 'unknown';
  if (!body) {
    watcher.end();
    return 'whole';
  }
  let reader: WebReader;
  try {
    reader = readerOf(body);
  } catch {
    return 'unknown'; // locked by another reader
  }
  let end: BodyEnd | undefined;
  const cancel = after(timeoutMs, () => {
    end = 'late';
    giveUp(reader);
  });
  try {
    end = (await readAll(reader, watcher, maxBytes)) ? (end ?? 'whole') : 'too-large';
  } catch {
    end ??= 'unknown';
  }
  cancel();
  if (end === 'whole') watcher.end();
  else giveUp(reader);
  return end;
}

async function readAll(
  reader: WebReader,
  watcher: BodyWatcher,
  maxBytes: number,
): Promise<boolean> {
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    const bytes = value as Uint8Array;
    length += bytes.length;
    if (length > maxBytes) return false;
    await showBytes(watcher, bytes);
  }
}

function giveUp(reader: WebReader): void {
  reader.cancel(undefined).catch(() => undefined);
}

function readerOf(body: object): WebReader {
  return (body as { getReader(): WebReader }).getReader();
}
