/** Fastify's request as limiters see it. */

import type { TrustProxy } from '@spillway/core';
import { compileTrust, type Notices, type Trust } from '@spillway/core/adapter';
import { NodeLimitRequest } from '@spillway/core/node';
import type { FastifyRequest } from 'fastify';

const NOBODY: Trust = compileTrust(false);
const UNSAFE =
  "Fastify's trustProxy must not trust everyone: any client could then name itself in X-Forwarded-For and never be " +
  'limited; write the addresses of the proxies in front of this server. Until it is mended, no proxy is believed ' +
  '(SPW_TRUST_PROXY_UNSAFE)';

export class FastifyLimitRequest extends NodeLimitRequest<FastifyRequest> {
  private readonly asFastify: boolean;

  constructor(raw: FastifyRequest, trust: Trust | 'fastify', ipv6Prefix: number | undefined) {
    super(raw, raw.raw, trust === 'fastify' ? NOBODY : trust, ipv6Prefix);
    this.asFastify = trust === 'fastify';
  }

  override get route(): string | undefined {
    return this.raw.routeOptions.url;
  }

  protected override claimedAddress(): string | undefined {
    try {
      return this.asFastify ? this.raw.ip : super.claimedAddress();
    } catch {
      return undefined; // a function of the app's own that throws: nobody is believed
    }
  }
}

/**
 * Finds which proxies are believed: those of `option`, else those of Fastify's own (`fastify`: its `request.ip` is taken).
 * Where that believes everyone nobody is believed, and `notices` is told.
 *
 * @throws SpillwayError `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID` for `option`
 */
export function trustFinder(
  option: TrustProxy | undefined,
  notices: Notices,
): (request: FastifyRequest) => Trust | 'fastify' {
  let trust: Trust | 'fastify' | undefined = option === undefined ? option : compileTrust(option);
  return (request) => {
    if (trust !== undefined) return trust;
    trust = believesEveryone(request) ? NOBODY : 'fastify';
    if (trust === NOBODY) notices.tell('SPW_TRUST_PROXY_UNSAFE', () => UNSAFE);
    return trust;
  };
}

/** Fastify does not show its option: whoever believes a hundred addresses that nobody has believes every address. */
function believesEveryone(request: FastifyRequest): boolean {
  const claims = Array.from({ length: 100 }, (_, last) => `198.51.100.${last}`);
  const headers = { 'x-forwarded-for': claims.join(', ') };
  const raw = { headers, socket: { remoteAddress: '203.0.113.1' } };
  try {
    return Object.create(request, { raw: { value: raw } }).ip === claims[0];
  } catch {
    return false; // as for each request then
  }
}
