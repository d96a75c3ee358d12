/** With no trust the client is the peer; with a hop count it is the entry counted from the right. */

import { describe, expect, it } from 'vitest';
import { clientAddress, compileTrust, type TrustProxy } from '../../src/net/client.js';
import { nearlyAddress, pick, randomIPv4, seeded } from './random.js';

/** The client's address under a freshly compiled trust. */
function client(trustProxy: TrustProxy | undefined, socket?: string, forwardedFor?: string) {
  return clientAddress(compileTrust(trustProxy), socket, forwardedFor);
}

describe('clientAddress without trust', () => {
  it('is the peer of the socket, whatever the header says', () => {
    for (const header of [undefined, '', '6.6.6.6', 'unknown', ',,,']) {
      expect(client(false, '192.0.2.1', header)).toBe('192.0.2.1');
    }
  });

  it.each([undefined, '', 'unknown', '/run/app.sock', '192.0.2.1:80'])(
    'is undefined for a peer of %j',
    (peer) => {
      expect(client(false, peer, '6.6.6.6')).toBeUndefined();
    },
  );
});

const HOPS: readonly [
  hops: number,
  socket: string | undefined,
  header: string | undefined,
  client: string | undefined,
][] = [
  [1, '10.0.0.1', '6.6.6.6, 192.0.2.1', '192.0.2.1'],
  [2, '10.0.0.1', '6.6.6.6, 192.0.2.1, 10.0.0.2', '192.0.2.1'],
  [2, '10.0.0.1', '6.6.6.6,192.0.2.1:4711,[fd00::1]:80', '192.0.2.1'],
  [1, '10.0.0.1', undefined, '10.0.0.1'],
  [1, '10.0.0.1', '', '10.0.0.1'],
  [5, '10.0.0.1', '192.0.2.1, 10.0.0.2', '192.0.2.1'],
  [5, '10.0.0.1', 'unknown, 192.0.2.1', '192.0.2.1'],
  [5, '10.0.0.1', 'unknown', '10.0.0.1'],
  [5, undefined, 'unknown', undefined],
  [1, undefined, '6.6.6.6, 192.0.2.1', '192.0.2.1'],
  [1, '10.0.0.1', '192.0.2.1, unknown', undefined],
  [1, '10.0.0.1', '192.0.2.1, _hidden', undefined],
  [1, '10.0.0.1', '192.0.2.1, 999.1.1.1', undefined],
  [1, '10.0.0.1', '192.0.2.1, <script>', undefined],
  [1, '10.0.0.1', '192.0.2.1,', '192.0.2.1'],
  [1, '10.0.0.1', ', 192.0.2.1', '192.0.2.1'],
  [1, '10.0.0.1', '6.6.6.6,, 192.0.2.1 , ,', '192.0.2.1'],
  [1, '10.0.0.1', ' , ,', '10.0.0.1'],
  [2, '10.0.0.1', '6.6.6.6, 192.0.2.1, unknown', '192.0.2.1'],
  [2, '10.0.0.1', '192.0.2.1, , 10.0.0.2,', '192.0.2.1'],
];

describe('clientAddress with a hop count', () => {
  it.each(HOPS)(
    'of %i, a socket of %j and the header %j is %j',
    (hops, socket, header, expected) => {
      expect(client(hops, socket, header)).toBe(expected);
    },
  );

  it('does not depend on what stands to the left of the counted entry', () => {
    const random = seeded(7);
    for (let round = 0; round < 3_000; round += 1) {
      const hops = 1 + random(4);
      const written = Array.from({ length: hops }, () =>
        pick(random, [randomIPv4(random), 'unknown']),
      ).join(',');
      const claims = Array.from({ length: random(4) }, () => nearlyAddress(random));
      expect(client(hops, '10.0.0.1', [...claims, written].join(','))).toBe(
        client(hops, '10.0.0.1', written),
      );
    }
  });

  it('does not depend on empty elements, wherever they stand', () => {
    const random = seeded(11);
    for (let round = 0; round < 3_000; round += 1) {
      const entries = Array.from({ length: random(5) }, () =>
        pick(random, [randomIPv4(random), 'unknown']),
      );
      const gaps = entries.flatMap((entry) => [
        entry,
        ...Array(random(3)).fill(pick(random, ['', ' '])),
      ]);
      const hops = 1 + random(5);
      const sparse = [...Array(random(3)).fill(''), ...gaps].join(',');
      expect(client(hops, '10.0.0.1', sparse)).toBe(client(hops, '10.0.0.1', entries.join(',')));
    }
  });

  it('is never undefined when fewer hops came than were counted and one was an address', () => {
    const random = seeded(8);
    for (let round = 0; round < 3_000; round += 1) {
      const entries = Array.from({ length: random(6) }, () =>
        pick(random, [randomIPv4(random), 'unknown', '']),
      );
      const leftmost = entries.find((entry) => entry !== 'unknown' && entry !== '') ?? '10.0.0.1';
      expect(client(entries.length + 1 + random(50), '10.0.0.1', entries.join(','))).toBe(leftmost);
    }
  });
});
