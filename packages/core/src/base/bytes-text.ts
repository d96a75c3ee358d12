import { SpillwayError } from './errors.js';
import { utf8Bytes } from './utf8.js';

declare class TextDecoder {
  constructor(label: string, options: { fatal: boolean; ignoreBOM: boolean });
  decode(bytes: Uint8Array): string;
}
declare function btoa(binary: string): string;
declare function atob(base64: string): string;

/** Bytes per call of `fromCharCode`, because engines limit the number of arguments. */
const CHUNK = 8_192;

/**
 * Encodes bytes as a string: UTF-8 as `t` and the text, other bytes as `b` and their base64. Text with a NUL also
 * becomes base64, because some databases reject NUL.
 *
 * @example
 * ```ts run
 * import { bytesOfText, textOfBytes } from '@spillway/core/store';
 *
 * textOfBytes(new Uint8Array([104, 105])); // 'thi'
 * textOfBytes(new Uint8Array([104, 255])); // 'baP8='
 * bytesOfText('thi'); // new Uint8Array([104, 105])
 * ```
 */
export function textOfBytes(bytes: Uint8Array): string {
  const text = validText(bytes);
  if (text !== undefined && !text.includes('\0')) return `t${text}`;
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return `b${btoa(binary)}`;
}

/** @throws SpillwayError `SPW_STORE_ERROR` if {@link textOfBytes} has not made the text */
export function bytesOfText(text: string): Uint8Array {
  if (text.startsWith('t')) return utf8Bytes(text.slice(1));
  if (!text.startsWith('b')) throw noBytes();
  let binary: string;
  try {
    binary = atob(text.slice(1));
  } catch {
    throw noBytes();
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

function validText(bytes: Uint8Array): string | undefined {
  try {
    // With `ignoreBOM`, a byte order mark is kept, because it is part of the stored bytes.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function noBytes(): SpillwayError {
  return new SpillwayError('SPW_STORE_ERROR', 'the stored value is not one of this format', {
    kind: 'script',
  });
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export function base64url(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const digits = Math.min(4, bytes.length - i + 1);
    for (let d = 0; d < digits; d += 1) text += DIGITS[(group >> (18 - 6 * d)) & 63];
  }
  return text;
}
