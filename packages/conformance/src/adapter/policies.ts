/** The remaining units under each policy of a route. `perKey` is missing if the route has no limit per key. */
export interface Quotas {
  readonly inFlight: number;
  readonly perAddress: number;
  readonly perKey?: number;
}

/** The quota per hour, and the seconds in which one unit refills. */
const PER_ADDRESS = { quota: 60, seconds: 60 };
const PER_KEY = { quota: 5, seconds: 720 };
const IN_FLIGHT = 5;

export const FULL: Quotas = {
  inFlight: IN_FLIGHT,
  perAddress: PER_ADDRESS.quota,
};

/** What remains after a new caller's requests, while the last of them is in flight. */
export function after(requests: number): Quotas {
  return { inFlight: IN_FLIGHT - 1, perAddress: PER_ADDRESS.quota - requests };
}

/**
 * What remains after the limit per key has admitted five requests and rejected some. In a service with two guards, the
 * first guard has charged the rejected requests, too.
 */
export function refusedByKey(refusals: number, oneGuard: boolean): Quotas {
  return oneGuard
    ? { inFlight: IN_FLIGHT, perAddress: PER_ADDRESS.quota - 5, perKey: 0 }
    : { ...after(5 + refusals), perKey: 0 };
}

/**
 * The quotas in the reply if a limit for all routes rejects the request. If one guard has all limits, the reply also
 * has the quota of the route's limit.
 */
export function refusedInFront(quotas: Quotas, oneGuard: boolean): Quotas {
  return oneGuard ? { ...quotas, perKey: PER_KEY.quota } : quotas;
}

export function policyField({ perKey }: Quotas): string {
  const front = '"in-flight";q=5;qu="concurrent-requests", "per-address";q=60;w=3600';
  return perKey === undefined ? front : `${front}, "per-key";q=5;w=3600`;
}

export function limitField({ inFlight, perAddress, perKey }: Quotas): string {
  const front = `"in-flight";r=${inFlight}, ${item('per-address', perAddress, PER_ADDRESS)}`;
  return perKey === undefined ? front : `${front}, ${item('per-key', perKey, PER_KEY)}`;
}

function item(name: string, left: number, { quota, seconds }: typeof PER_KEY): string {
  const wait = left === 0 ? seconds : (quota - left) * seconds;
  return `"${name}";r=${left};t=${wait}`;
}

/** Returns `actual` with the `t` values of `expected` wherever the elapsed time explains the difference. */
export function withoutTime(
  actual: string | undefined,
  expected: string,
  elapsedMs: number,
): string | undefined {
  const times = [...expected.matchAll(/;t=(\d+)/g)].map((match) => Number(match[1]));
  return actual?.replace(/;t=(\d+)/g, (text, digits) => {
    const wanted = times.shift();
    const isClose = wanted !== undefined && isWithin(Number(digits), wanted, elapsedMs);
    return isClose ? `;t=${wanted}` : text;
  });
}

/** Whether a wait can have shrunk from `wanted` to `seconds` in at most `elapsedMs`. `seconds` is rounded up. */
export function isWithin(seconds: number, wanted: number, elapsedMs: number): boolean {
  return seconds <= wanted && seconds >= Math.ceil(wanted - elapsedMs / 1000);
}

export interface Refusal {
  readonly status: 429 | 503;
  readonly detail:
    | { readonly reason: 'rate'; readonly policy: string }
    | { readonly reason: 'concurrency'; readonly policy: string; readonly limit: number }
    | { readonly reason: 'overload' };
  readonly violated: readonly string[];
}

export function problemText({ status, detail, violated }: Refusal, seconds: number): string {
  const [type, title] =
    status === 429
      ? ['quota-exceeded', 'Quota exceeded']
      : ['temporary-reduced-capacity', 'Temporarily reduced capacity'];
  return JSON.stringify({
    type: `https://iana.org/assignments/http-problem-types#${type}`,
    title,
    status,
    detail: detailText(detail, `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`),
    'violated-policies': violated,
  });
}

function detailText(detail: Refusal['detail'], wait: string): string {
  switch (detail.reason) {
    case 'rate':
      return `You have used up the quota of policy "${detail.policy}". ${wait}`;
    case 'concurrency':
      return (
        `You can have only ${detail.limit} requests in progress at once under policy "${detail.policy}". ` +
        `Run ${detail.limit} workers on a queue instead of retrying.`
      );
    default:
      return `The service cannot take this request now. ${wait}`;
  }
}

export const RATE_BY_KEY: Refusal = {
  status: 429,
  detail: { reason: 'rate', policy: 'per-key' },
  violated: ['per-key'],
};
export const RATE_BY_ADDRESS: Refusal = {
  status: 429,
  detail: { reason: 'rate', policy: 'per-address' },
  violated: ['per-address'],
};
export const CONCURRENCY: Refusal = {
  status: 429,
  detail: { reason: 'concurrency', policy: 'in-flight', limit: 5 },
  violated: ['in-flight'],
};
export const FLEET: Refusal = {
  status: 503,
  detail: { reason: 'overload' },
  violated: ['fleet'],
};
export const WORKERS: Refusal = {
  status: 503,
  detail: { reason: 'overload' },
  violated: ['workers'],
};

export const REMEMBERED = {
  policy: '"per-address";q=60;w=3600',
  limit: '"per-address";r=0;t=60',
};

/**
 * The longest `Retry-After` of a rejection, in seconds. A rate limit sends the time until a unit is free. Other
 * limiters send a hint of one or two seconds.
 */
export function waitOf({ detail }: Refusal): number {
  if (detail.reason !== 'rate') return 2;
  return detail.policy === 'per-key' ? PER_KEY.seconds : PER_ADDRESS.seconds;
}
