import { utf8Bytes, utf8Text } from '../base/utf8.js';
import type { Header } from '../contract/request.js';

/** Stored by default: they describe the body or point to a created resource. Others may concern one client. */
const STORED_HEADERS = [
  'Content-Type',
  'Content-Encoding',
  'Content-Disposition',
  'Content-Language',
  'Content-Range',
  'Cache-Control',
  'Vary',
  'Location',
  'ETag',
  'Link',
] as const;

const NEVER_REPLAYED =
  /^(set-cookie|date|retry-after|(x-)?ratelimit.*|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|proxy-.*|idempotency-replayed)$/i;

export const FREE_ON: readonly number[] = [408, 425, 429, 503];

/** Whether `name` is a valid header name or method: a token of RFC 9110. */
export function isToken(name: unknown): name is string {
  return typeof name === 'string' && /^[!#$%&'*+.^_`|~\w-]+$/.test(name);
}

export function isKeepable(name: unknown): name is string {
  return isToken(name) && !NEVER_REPLAYED.test(name);
}

export function storedHeaders(
  field: (name: string) => string | undefined,
  own: readonly string[],
): readonly Header[] {
  const kept: Header[] = [];
  // Names that differ only in case are one header, which is replayed by its name in STORED_HEADERS.
  const names = new Map([...own, ...STORED_HEADERS].map((name) => [name.toLowerCase(), name]));
  for (const name of names.values()) {
    const value = field(name);
    if (value !== undefined) kept.push([name, value]);
  }
  return kept;
}

export class ResponseCollector {
  private answer: { readonly status: number; readonly fields: readonly Header[] } | undefined;
  private chunks: Uint8Array[] = [];
  private length = 0;
  private most = 0;

  beginAnswer(status: number, fields: readonly Header[], most: number): void {
    this.answer = { status, fields };
    this.chunks = [];
    this.length = 0;
    this.most = most;
  }

  /** Adds bytes to the body. Returns false once the body is too long to store. Then no more bytes are needed. */
  addChunk(bytes: Uint8Array): boolean {
    this.length += bytes.length;
    if (this.length > this.most) this.chunks = [];
    else if (bytes.length > 0) this.chunks.push(new Uint8Array(bytes)); // a copy: the writer may reuse its buffer
    return this.length <= this.most;
  }

  toRecord(): AnswerRecord | undefined {
    const { answer } = this;
    return answer && { ...answer, body: this.length <= this.most ? this.bytes() : undefined };
  }

  /** The response without its body, which may be incomplete. Undefined if no response has begun. */
  bodiless(): AnswerRecord | undefined {
    return this.answer && { ...this.answer, body: undefined };
  }

  private bytes(): Uint8Array {
    const bytes = new Uint8Array(this.length);
    let at = 0;
    for (const chunk of this.chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }
}

const VERSION = 1;
const PREFIX = 5;

export interface AnswerRecord {
  readonly status: number;
  readonly fields: readonly Header[];
  /** Undefined if the body was not stored. */
  readonly body: Uint8Array | undefined;
}

interface Head {
  readonly s: number;
  readonly f: readonly Header[];
  readonly b: boolean;
}

/** The binary format: a version byte, the length of the JSON in 4 bytes, status and headers as JSON, and the body. */
export function encodeRecord({ status, fields, body }: AnswerRecord): Uint8Array {
  const json: Head = { s: status, f: fields, b: body !== undefined };
  const head = utf8Bytes(JSON.stringify(json));
  const bytes = new Uint8Array(PREFIX + head.length + (body?.length ?? 0));
  bytes[0] = VERSION;
  new DataView(bytes.buffer).setUint32(1, head.length);
  bytes.set(head, PREFIX);
  if (body) bytes.set(body, PREFIX + head.length);
  return bytes;
}

/** Decodes a stored response. Returns undefined if the bytes are not in this version's format. */
export function decodeRecord(bytes: Uint8Array): AnswerRecord | undefined {
  if (bytes.length < PREFIX || bytes[0] !== VERSION) return undefined;
  const end = PREFIX + new DataView(bytes.buffer, bytes.byteOffset).getUint32(1);
  if (end > bytes.length) return undefined;
  try {
    const head: unknown = JSON.parse(utf8Text(bytes.subarray(PREFIX, end)));
    if (!isHead(head)) return undefined;
    return { status: head.s, fields: head.f, body: head.b ? bytes.slice(end) : undefined };
  } catch {
    return undefined;
  }
}

function isHead(value: unknown): value is Head {
  const { s, f, b } = (value ?? {}) as Partial<Head>;
  const isStatus = Number.isInteger(s) && (s as number) >= 200 && (s as number) <= 599;
  return isStatus && typeof b === 'boolean' && Array.isArray(f) && f.every(isField);
}

function isField(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
  );
}
