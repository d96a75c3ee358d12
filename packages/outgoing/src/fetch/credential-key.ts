/** Keys for calls with several credentials, each of which has a limit at the other side. */

import { newDigest, utf8Bytes } from '@spillway/core/direct';
import type { WebRequest } from '@spillway/core/fetch';

/** The headers in which APIs take credentials. */
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key'];

/** Enough to tell a process's credentials apart. */
const HASH_BYTES = 8;

declare const URL: new (url: string) => { readonly host: string };

/**
 * The key of a call for the option `key` of {@link pacedFetch}: a pace for each host and credential. It contains a hash
 * of the headers `Authorization`, `X-Api-Key` and `Api-Key`; without them it is the host.
 *
 * @example
 * ```ts
 * import { createShaper, hostAndCredential, pacedFetch } from '@spillway/outgoing';
 *
 * const shaper = createShaper({ name: 'llm', limit: 500, window: '1m' });
 * const send = pacedFetch(shaper, { key: hostAndCredential });
 * ```
 */
export function hostAndCredential({ url, headers }: Pick<WebRequest, 'url' | 'headers'>): string {
  const { host } = new URL(url);
  const given = CREDENTIALS.map((name) => headers.get(name));
  if (given.every((value) => value === null)) return host;
  const digest = newDigest();
  digest.update(utf8Bytes(JSON.stringify(given)));
  const bytes = digest.digest().subarray(0, HASH_BYTES);
  return `${host}#${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
