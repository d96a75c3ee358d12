/** An answer as bytes: a version, the length of its head, its head as JSON, and its body. */

import { utf8Bytes, utf8Text } from '../base/utf8.js';
import type { Field } from '../contract/request.js';

const VERSION = 1;
const PREFIX = 5;

/** An answer as it is kept. */
export interface AnswerRecord {
  readonly status: number;
  readonly fields: readonly Field[];
  /** Undefined if the body was not kept. */
  readonly body: Uint8Array | undefined;
}

/** What `JSON` makes of a head. */
interface Head {
  readonly s: number;
  readonly f: readonly Field[];
  /** Whether the body was kept. */
  readonly b: boolean;
}

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
