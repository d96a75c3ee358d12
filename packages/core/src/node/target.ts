/** The target of a node:http request, which contains its path and query. */

export interface NodeTarget {
  readonly url?: string | undefined;
  /** The target as sent, stored by Express and Fastify before they rewrite `url`. */
  readonly originalUrl?: string | undefined;
}

/** The target as sent, even if a framework has rewritten `url`. */
export function targetOf({ originalUrl, url = '/' }: NodeTarget): string {
  return originalUrl ?? url;
}
