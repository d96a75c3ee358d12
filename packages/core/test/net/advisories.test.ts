/** Mistakes for which other limiters had to publish an advisory; a test prevents each. */

import { expect, it } from 'vitest';
import { canonicalAddress } from '../../src/net/address.js';
import { clientAddress, compileTrust } from '../../src/net/client.js';

it('CVE-2026-30827: IPv4 clients of a dual-stack socket do not share one masked bucket', () => {
  for (const prefix of [32, 48, 56, 64, 96, 128]) {
    expect(canonicalAddress('::ffff:192.0.2.1', prefix)).toBe('192.0.2.1');
    expect(canonicalAddress('::ffff:c000:202', prefix)).toBe('192.0.2.2');
  }
});

it('CVE-2026-27700: behind a load balancer that appends, the first entry is not the client', () => {
  const trust = compileTrust(1);
  expect(clientAddress(trust, '10.0.0.1', '6.6.6.6, 192.0.2.1')).toBe('192.0.2.1');
  const ranges = compileTrust(['uniquelocal']);
  expect(clientAddress(ranges, '10.0.0.1', '127.0.0.1, 192.0.2.1')).toBe('192.0.2.1');
});

it('CVE-2026-24398: an octet over 255 is no address and does not carry into its neighbour', () => {
  expect(canonicalAddress('1.2.2.355')).toBeUndefined();
  expect(canonicalAddress('::ffff:1.2.2.355')).toBeUndefined();
  expect(clientAddress(compileTrust(['1.2.3.0/24']), '1.2.2.355', '6.6.6.6')).toBeUndefined();
  expect(() => compileTrust(['1.2.2.355'])).toThrow(/SPW_CIDR_INVALID/);
});

it('CVE-2026-47674: an IPv6 rule holds for every spelling of its addresses', () => {
  for (const rule of ['2001:db8::1', '2001:0DB8:0:0::0:1', '2001:db8:0:0:0:0:0.0.0.1/128']) {
    const trust = compileTrust([rule]);
    for (const peer of [
      '2001:db8::1',
      '2001:DB8::0001',
      '2001:db8:0:0:0:0:0:1',
      '2001:db8::0.0.0.1',
    ]) {
      expect(clientAddress(trust, peer, '192.0.2.1')).toBe('192.0.2.1');
    }
    expect(clientAddress(trust, '2001:db8::11', '192.0.2.1')).toBe('2001:db8::11');
  }
});

it('hono ip-restriction: a mapped address does not slip past an IPv4 rule', () => {
  for (const rule of [
    '127.0.0.1',
    '127.0.0.0/8',
    'loopback',
    '::ffff:127.0.0.1',
    '::ffff:7f00:0/104',
  ]) {
    for (const peer of [
      '127.0.0.1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '0:0:0:0:0:FFFF:7F00:0001',
    ]) {
      expect(clientAddress(compileTrust([rule]), peer, '192.0.2.1')).toBe('192.0.2.1');
    }
  }
});

it('CVE-2026-3635: a peer that is not trusted is not believed', () => {
  const trust = compileTrust(['10.0.0.0/8']);
  expect(clientAddress(trust, '192.0.2.1', '10.0.0.1')).toBe('192.0.2.1');
});

it('better-auth 7300 and 10203: the leftmost claim cannot choose a bucket, nor can the low half of an IPv6 address', () => {
  const trust = compileTrust(['10.0.0.0/8']);
  const buckets = new Set<string | undefined>();
  for (let claim = 0; claim < 50; claim += 1) {
    const client = clientAddress(trust, '10.0.0.1', `6.6.6.${claim}, 2001:db8::${claim}`);
    buckets.add(canonicalAddress(client));
  }
  expect([...buckets]).toEqual(['2001:db8::/64']);
});
