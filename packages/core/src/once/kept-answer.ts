/** An answer that is kept: which are, what of them, and their bytes in a store. */

import { utf8Bytes, utf8Text } from '../base/utf8.js';
import type { Header } from '../contract/request.js';

/** The fields that describe the body, or lead to what was made. Others are of one response only, or of one client. */
const FIELDS = [
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

/** What must not be given to anybody again, whoever asks for it. */
const NEVER =
  /^(set-cookie|date|retry-after|(x-)?ratelimit.*|connection|keep-alive|transfer-encoding|content-length|te|trailer|upgrade|proxy-.*|idempotency-replayed)$/i;

/** A later try may be answered otherwise: nothing was done. */
export const FREE_ON: readonly number[] = [408, 425, 429, 503];

/** Whether it can be the name of a field, or a method: a token of RFC 9110. */
export function isToken(name: unknown): name is string {
  return typeof name === 'string' && /^[!#$%&'*+.^_`|~\w-]+$/.test(name);
}

/** Whether a field of this name can be kept. */
export function isKeepable(name: unknown): name is string {
  return isToken(name) && !NEVER.test(name);
}

/** The fields of an answer that are kept; `own`: those that the app adds. */
export function keptFields(
  field: (name: string) => string | undefined,
  own: readonly string[],
): readonly Header[] {
  const kept: Header[] = [];
  for (const name of new Set([...FIELDS, ...own])) {
    const value = field(name);
    if (value !== undefined) kept.push([name, value]);
  }
  return kept;
}

/** An answer while it is given: its head, and its body as long as that is not too long. */
export class CollectedAnswer {
  private answer: { readonly status: number; readonly fields: readonly Header[] } | undefined;
  private chunks: Uint8Array[] = [];
  private length = 0;
  private most = 0;

  /** @param most the most bytes of a body */
  begin(status: number, fields: readonly Header[], most: number): void {
    this.answer = { status, fields };
    this.chunks = [];
    this.length = 0;
    this.most = most;
  }

  /** Whether more is wanted. */
  add(bytes: Uint8Array): boolean {
    this.length += bytes.length;
    if (this.length > this.most) this.chunks = [];
    else if (bytes.length > 0) this.chunks.push(new Uint8Array(bytes)); // whoever wrote them may use them again
    return this.length <= this.most;
  }

  /** The answer, with its body if that was not too long; undefined if there is none yet. */
  record(): AnswerRecord | undefined {
    const { answer } = this;
    return answer && { ...answer, body: this.length <= this.most ? this.bytes() : undefined };
  }

  /** The answer without its body, of which the end is not known; undefined if there is none yet. */
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

/** An answer as it is kept. */
export interface AnswerRecord {
  readonly status: number;
  readonly fields: readonly Header[];
  /** Undefined if the body was not kept. */
  readonly body: Uint8Array | undefined;
}

/** What `JSON` makes of a head. */
interface Head {
  readonly s: number;
  readonly f: readonly Header[];
  /** Whether the body was kept. */
  readonly b: boolean;
}

/** An answer as bytes: a version, the length of its head, its head as JSON, and its body. */
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

/** Undefined for bytes that are none of ours, or of a later version. */
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
