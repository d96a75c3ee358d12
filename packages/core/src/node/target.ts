export interface NodeTarget {
  readonly url?: string | undefined;
  /** The target as sent, stored by Express and Fastify before they rewrite `url`. */
  readonly originalUrl?: string | undefined;
}

export function targetOf({ originalUrl, url = '/' }: NodeTarget): string {
  return originalUrl ?? url;
}
