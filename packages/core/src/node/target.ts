/** The target of a request of node:http, of which its path and its query are parts. */

export interface NodeTarget {
  readonly url?: string | undefined;
  /** Where a framework keeps what the client sent, as Express and Fastify do before they rewrite `url`. */
  readonly originalUrl?: string | undefined;
}

/** The target as the client sent it, whatever a framework has made of `url` since. */
export function targetOf({ originalUrl, url = '/' }: NodeTarget): string {
  return originalUrl ?? url;
}
