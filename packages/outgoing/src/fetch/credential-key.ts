import { hexOf, sha256, utf8Bytes } from '@spillway/core/direct';
import type { WebRequest } from '@spillway/core/fetch';

const CREDENTIALS = ['authorization', 'x-api-key', 'api-key'];

/** This length is enough to distinguish the credentials that a fleet uses. */
const HASH_BYTES = 8;

declare const URL: new (url: string) => { readonly host: string };

/**
 * A `key` option for {@link pacedFetch} that gives each combination of host and credential its own pace. The key
 * contains a hash of the headers `Authorization`, `X-Api-Key` and `Api-Key`. Without these headers, the host is the
 * key.
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
  const bytes = sha256(utf8Bytes(JSON.stringify(given)));
  return `${host}#${hexOf(bytes.subarray(0, HASH_BYTES))}`;
}
