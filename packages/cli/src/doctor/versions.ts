export interface ServerVersion {
  readonly product: 'Redis' | 'Valkey';
  readonly text: string;
}

/**
 * The first patch number with the fix of CVE-2025-49844, by major and minor version. SECURITY.md lists the Redis
 * versions.
 */
const FIXED: Readonly<Record<ServerVersion['product'], Readonly<Record<string, number>>>> = {
  Redis: { '6.2': 20, '7.2': 11, '7.4': 6, '8.0': 4, '8.2': 2 },
  Valkey: { '7.2': 11, '8.0': 6, '8.1': 4 },
};

/** The newest minor version whose first release lacked the fix. */
const LAST = { Redis: [8, 2], Valkey: [8, 1] } as const;

/**
 * Returns the version of the server. Valkey reports it in a separate field, beside the version of the compatible Redis.
 */
export function versionFrom(info: ReadonlyMap<string, string>): ServerVersion | undefined {
  const valkey = info.get('valkey_version');
  if (valkey) return { product: 'Valkey', text: valkey };
  const redis = info.get('redis_version');
  return redis ? { product: 'Redis', text: redis } : undefined;
}

export function isSupported({ product, text }: ServerVersion): boolean {
  const [major, minor] = partsOf(text);
  return product === 'Valkey' || major > 6 || (major === 6 && minor >= 2);
}

/** Minor versions that are missing in `FIXED` and older than `LAST`, such as 7.0, never got the fix. */
export function isSafeVersion({ product, text }: ServerVersion): boolean {
  const [major, minor, patch] = partsOf(text);
  const fixed = FIXED[product][`${major}.${minor}`];
  if (fixed !== undefined) return patch >= fixed;
  const [lastMajor, lastMinor] = LAST[product];
  return major > lastMajor || (major === lastMajor && minor > lastMinor);
}

function partsOf(text: string): [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = text
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  return [major, minor, patch];
}
