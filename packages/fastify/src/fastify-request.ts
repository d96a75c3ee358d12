import { canonicalAddress } from '@spillway/core';
import {
  type Addressing,
  type AddressOptions,
  clientAddress,
  compileAddressing,
  type Notices,
  type Trust,
} from '@spillway/core/adapter';
import { NodeLimitRequest } from '@spillway/core/node';
import type { FastifyRequest } from 'fastify';

const UNSAFE =
  "Fastify's trustProxy must not trust everyone: any client could then name itself in X-Forwarded-For and never be " +
  'limited; write the addresses of the proxies in front of this server. Until you change it, no proxy is trusted';

/** Reads `request.ip` like an entry of X-Forwarded-For, because it may come from this header and have a port. */
const ONE_HOP: Trust = { kind: 'hops', hops: 1 };

interface FastifyAddressing extends Addressing {
  readonly byFastify?: boolean;
}

export class FastifyLimitRequest extends NodeLimitRequest<FastifyRequest> {
  private readonly believed: FastifyAddressing;

  constructor(raw: FastifyRequest, believed: FastifyAddressing) {
    super(raw, raw.raw, believed);
    this.believed = believed;
  }

  override get route(): string | undefined {
    return this.raw.routeOptions.url;
  }

  protected override findAddress(): string | undefined {
    const { byFastify, ipv6Prefix, watch } = this.believed;
    if (!byFastify) return super.findAddress();
    try {
      const { ip } = this.raw;
      if (watch && ip === this.raw.socket.remoteAddress) {
        watch.look(ip, this, this.header('x-forwarded-for') === undefined);
      }
      return canonicalAddress(clientAddress(ONE_HOP, undefined, ip), ipv6Prefix);
    } catch {
      return undefined; // the app's trust function threw
    }
  }
}

/**
 * Returns a function that says how to find the client address of a request. If Fastify's own `trustProxy` is used and
 * trusts everyone, no proxy is trusted and `notices` gets a warning.
 *
 * @throws SpillwayError as `compileAddressing` does
 */
export function addressingFinder(
  options: AddressOptions,
  notices: Notices,
): (request: FastifyRequest) => FastifyAddressing {
  const own = compileAddressing(options, notices, "Fastify's own trustProxy");
  let known: FastifyAddressing | undefined = options.trustProxy === undefined ? undefined : own;
  return (request) => {
    if (known) return known;
    const byFastify = !believesEveryone(request);
    if (!byFastify) notices.tell('SPW_TRUST_PROXY_UNSAFE', UNSAFE);
    known = { ...own, byFastify, watch: byFastify ? own.watch : undefined };
    return known;
  };
}

/**
 * Two fake requests, each sent through 100 proxies that no real service has. One has proxies at IPv4 documentation
 * addresses, the other at addresses all over public IPv6.
 */
const PROBES = [
  { peer: '203.0.113.1', hops: hundred((at) => `198.51.100.${at}`) },
  { peer: '2fff::1', hops: hundred((at) => `${(0x2000 + at * 0x28).toString(16)}::1`) },
];

function hundred(address: (at: number) => string): string[] {
  return Array.from({ length: 100 }, (_, at) => address(at));
}

/**
 * An app that trusts all proxies of a probe trusts every address. A probe is needed, because Fastify doesn't expose its
 * option.
 */
function believesEveryone(request: FastifyRequest): boolean {
  return PROBES.some(({ peer, hops }) => {
    const headers = { 'x-forwarded-for': hops.join(', ') };
    const raw = { headers, socket: { remoteAddress: peer } };
    try {
      return Object.create(request, { raw: { value: raw } }).ip === hops[0];
    } catch {
      return false; // the app's trust function threw; it will throw for each request
    }
  });
}
