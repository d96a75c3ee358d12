/** With trusted networks, the client is the first hop from the right that is in none of them. */

import { describe, expect, it } from 'vitest';
import { canonicalAddress } from '../../src/net/address.js';
import { clientAddress, compileTrust, type TrustProxy } from '../../src/net/client.js';
import { nearlyAddress, pick, randomIPv4, seeded } from './random.js';

/** The client's address under a freshly compiled trust. */
function client(trustProxy: TrustProxy | undefined, socket?: string, forwardedFor?: string) {
  return clientAddress(compileTrust(trustProxy), socket, forwardedFor);
}

const RANGES: readonly [
  list: string[],
  socket: string | undefined,
  header: string | undefined,
  client: string | undefined,
][] = [
  [['10.0.0.0/8'], '10.0.0.1', '6.6.6.6, 192.0.2.1, 10.9.9.9', '192.0.2.1'],
  [['10.0.0.0/8'], '192.0.2.1', '6.6.6.6', '192.0.2.1'],
  [['10.0.0.0/8'], '10.0.0.1', undefined, '10.0.0.1'],
  [['10.0.0.0/8'], '10.0.0.1', '', '10.0.0.1'],
  [['10.0.0.0/8'], '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  [['10.0.0.0/8'], '10.0.0.1', '192.0.2.1, unknown', undefined],
  [['10.0.0.0/8'], '10.0.0.1', '192.0.2.1, <script>, 10.0.0.2', undefined],
  [['10.0.0.0/8'], '10.0.0.1', '192.0.2.1,', '192.0.2.1'],
  [['10.0.0.0/8'], '10.0.0.1', ', 192.0.2.1, 10.0.0.2,,', '192.0.2.1'],
  [['10.0.0.0/8'], undefined, '192.0.2.1', undefined],
  [['10.0.0.0/8'], '10.0.0.1', '192.0.2.1:5678, 10.0.0.2:80', '192.0.2.1'],
  [['10.1.2.3/8'], '10.200.0.1', '192.0.2.1', '192.0.2.1'],
  [['10.0.0.1'], '10.0.0.1', '192.0.2.1', '192.0.2.1'],
  [['10.0.0.1'], '10.0.0.2', '192.0.2.1', '10.0.0.2'],
  [['128.0.0.0/1'], '255.0.0.1', '1.1.1.1', '1.1.1.1'],
  [['128.0.0.0/1'], '127.0.0.1', '1.1.1.1', '127.0.0.1'],
  [['::1'], '0:0:0:0:0:0:0:1', '192.0.2.1', '192.0.2.1'],
  [['2001:DB8::/33'], '2001:db8:7fff::1', '192.0.2.1', '192.0.2.1'],
  [['2001:db8::/33'], '2001:db8:8000::1', '192.0.2.1', '2001:db8:8000::1'],
  [['fd00::/8'], 'fd12:3456::1', '192.0.2.1, [fdff::2]:443', '192.0.2.1'],
  [['fe80::/10'], 'fe80::1%eth0', '192.0.2.1', '192.0.2.1'],
  [['10.0.0.0/8'], '::ffff:10.0.0.1', '::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  [['10.0.0.0/8'], '::ffff:a00:1', '192.0.2.1', '192.0.2.1'],
  [['::ffff:10.0.0.0/104'], '10.0.0.1', '192.0.2.1', '192.0.2.1'],
  [['::ffff:10.0.0.0/104'], '11.0.0.1', '192.0.2.1', '11.0.0.1'],
  [['::ffff:10.0.0.1'], '10.0.0.1', '192.0.2.1', '192.0.2.1'],
  [['8000::/1'], '10.0.0.1', '192.0.2.1', '10.0.0.1'],
  [['0.0.0.0/1'], '::1', '192.0.2.1', '::1'],
  [['64:ff9b::/96', '10.0.0.0/8'], '64:ff9b::a00:1', '192.0.2.1, 64:ff9c::a00:1', '64:ff9c::a00:1'],
  [['10.0.0.0/8'], '64:ff9b::a00:1', '192.0.2.1', '64:ff9b::a00:1'],
  [['loopback'], '127.1.2.3', '192.0.2.1, ::1', '192.0.2.1'],
  [['linklocal'], '169.254.9.9', '192.0.2.1, febf::1', '192.0.2.1'],
  [['uniquelocal'], 'fdff::1', '192.0.2.1, 192.168.1.1, 172.31.255.255, 10.0.0.1', '192.0.2.1'],
  [['uniquelocal'], 'fc00::1', '192.0.2.1, 172.16.0.0, 192.168.255.255', '192.0.2.1'],
  [['uniquelocal'], '10.0.0.1', '192.0.2.1, 172.32.0.1', '172.32.0.1'],
  [['uniquelocal'], '172.15.255.255', '192.0.2.1', '172.15.255.255'],
  [['uniquelocal'], '192.169.0.1', '192.0.2.1', '192.169.0.1'],
  [['uniquelocal'], 'fe00::1', '192.0.2.1', 'fe00::1'],
  [['linklocal'], 'fec0::1', '192.0.2.1', 'fec0::1'],
  [['linklocal'], '169.255.0.1', '192.0.2.1', '169.255.0.1'],
  [['loopback'], '::2', '192.0.2.1', '::2'],
  [['loopback'], '128.0.0.1', '192.0.2.1', '128.0.0.1'],
  [['fd00::/8'], 'fd00::1', '192.0.2.1, unknown', undefined],
  [['loopback', '10.0.0.0/8'], '127.0.0.1', '192.0.2.1, 10.0.0.1', '192.0.2.1'],
];

describe('clientAddress with trusted networks', () => {
  it.each(RANGES)(
    'of %j, a socket of %j and the header %j is %j',
    (list, socket, header, expected) => {
      expect(client(list, socket, header)).toBe(expected);
    },
  );

  it('does not depend on anything to the left of the first hop that is not trusted', () => {
    const random = seeded(9);
    for (let round = 0; round < 3_000; round += 1) {
      const proxies = Array.from({ length: random(4) }, () => `10.${random(256)}.0.1`);
      const stranger = pick(random, [`192.0.2.${random(256)}`, 'unknown', '_x']);
      const claims = Array.from({ length: random(4) }, () => nearlyAddress(random));
      const header = [...claims, stranger, '', ...proxies].join(',');
      const expected = stranger.startsWith('192') ? stranger : undefined;
      expect(client(['10.0.0.0/8'], '10.0.0.1', header)).toBe(expected);
    }
  });

  it('agrees with a bitwise reference on which addresses a network holds', () => {
    const random = seeded(10);
    const bits = (ipv4: string) =>
      ipv4
        .split('.')
        .map((octet) => Number(octet).toString(2).padStart(8, '0'))
        .join('');
    for (let round = 0; round < 5_000; round += 1) {
      const network = randomIPv4(random);
      const peer = pick(random, [
        network,
        randomIPv4(random),
        `${network.split('.').slice(0, 3).join('.')}.${random(256)}`,
      ]);
      const prefix = 1 + random(32);
      const trusted = bits(network).slice(0, prefix) === bits(peer).slice(0, prefix);
      const cidr = pick(random, [`${network}/${prefix}`, `::ffff:${network}/${prefix + 96}`]);
      expect(client([cidr], peer, 'unknown')).toBe(trusted ? undefined : peer);
    }
  });

  it('gives up rather than believe a list of trusted hops longer than its bounds', () => {
    const header = ['6.6.6.6', ...Array(100).fill('10.0.0.2')].join(',');
    expect(client(['10.0.0.0/8'], '10.0.0.1', header)).toBeUndefined();
  });

  it('returns only texts that have a canonical form, and so a key', () => {
    const random = seeded(11);
    for (let round = 0; round < 10_000; round += 1) {
      const header = Array.from({ length: 1 + random(3) }, () => nearlyAddress(random)).join(',');
      const found = client(pick(random, [1, 2, 9, ['10.0.0.0/8']]), '10.0.0.1', header);
      if (found !== undefined) expect(canonicalAddress(found), header).toBeDefined();
    }
  });
});

it('adds up networks of IPv6 to everyone, however small the last of them', () => {
  // 2800::/5, 2400::/6, 2200::/7, ...: each leaves half as much of 2000::/4 as the one before.
  const networks = Array.from({ length: 36 }, (_, i) => {
    const words = new Array<number>(8).fill(0);
    words[0] = 0x2000;
    words[(i + 4) >> 4] = (words[(i + 4) >> 4] as number) | (0x8000 >> ((i + 4) & 15));
    return `${words.map((word) => word.toString(16)).join(':')}/${i + 5}`;
  });
  expect(compileTrust(networks)).toMatchObject({ kind: 'ranges' });
  expect(() => compileTrust([...networks, '2000::/40'])).toThrow('SPW_TRUST_PROXY_UNSAFE');
});
