/** A wrong `trustProxy` is a mistake at start-up, not a surprise under attack. */

import { describe, expect, it } from 'vitest';
import { clientAddress, compileTrust, type TrustProxy } from '../../src/net/client.js';

/** As a VPN lists everything that must go through it. */
const EVERYONE_WITHOUT_PRIVATE = (
  '0.0.0.0/5 8.0.0.0/7 11.0.0.0/8 12.0.0.0/6 16.0.0.0/4 32.0.0.0/3 64.0.0.0/2 128.0.0.0/3 160.0.0.0/5 168.0.0.0/6 ' +
  '172.0.0.0/12 172.32.0.0/11 172.64.0.0/10 172.128.0.0/9 173.0.0.0/8 174.0.0.0/7 176.0.0.0/4 192.0.0.0/9 ' +
  '192.128.0.0/11 192.160.0.0/13 192.169.0.0/16 192.170.0.0/15 192.172.0.0/14 192.176.0.0/12 192.192.0.0/10 ' +
  '193.0.0.0/8 194.0.0.0/7 196.0.0.0/6 200.0.0.0/5 208.0.0.0/4'
).split(' ');

describe('compileTrust', () => {
  it.each([[undefined], [false], [0], [[]]] as const)('trusts no proxy when given %j', (given) => {
    expect(compileTrust(given)).toEqual({ kind: 'none' });
  });

  it.each([
    [true],
    [['0.0.0.0/0']],
    [['10.0.0.0/8', '::/0']],
    [['::ffff:0:0/96']],
    [['0.0.0.0/1', '128.0.0.0/1']],
    [['fd00::/8', '0.0.0.0/1', '10.0.0.0/8', '192.0.0.0/2', '64.0.0.0/1', '128.0.0.0/2']],
    [['::/1', 'loopback', '8000::/1']],
    [['2000::/3']],
    [['2000::/4']],
    [['3000::/4', 'fd00::/8', '2800::/5', '2000::/5']],
    [['0.0.0.0/1', '128.0.0.0/2', '192.0.0.0/3']],
    [EVERYONE_WITHOUT_PRIVATE],
    [['::ffff:0:0/97', '::ffff:128.0.0.0/97']],
  ])('refuses %j, which trusts everyone, and says what to write instead', (given) => {
    expect(() => compileTrust(given as TrustProxy)).toThrow(
      /^trustProxy must not trust everyone: .* never be limited; write the number of proxies .* got .* \(SPW_TRUST_PROXY_UNSAFE\)$/,
    );
  });

  it.each([
    [['0.0.0.0/1', '128.0.0.0/2', '192.0.0.0/4']],
    [['2000::/5', '2800::/6', '3000::/4', '4000::/2', '8000::/1', '::/3']],
    [
      [
        '10.0.0.0/8',
        '172.16.0.0/12',
        '192.168.0.0/16',
        '127.0.0.0/8',
        '100.64.0.0/10',
        '169.254.0.0/16',
      ],
    ],
    [['0.0.0.0/1', '0.0.0.0/1', '64.0.0.0/2', '10.0.0.0/8']],
    [['0.0.0.0/1', '8000::/1']],
  ])('takes %j, which leaves some addresses out', (given) => {
    expect(compileTrust(given)).toMatchObject({ kind: 'ranges' });
  });

  it.each([
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    '1',
    'loopback',
    'true',
    '',
    null,
    {},
    () => true,
  ])('refuses %j as neither a hop count nor a list', (given) => {
    expect(() => compileTrust(given as TrustProxy)).toThrow(
      /^trustProxy must be the number .* got .* \(SPW_TRUST_PROXY_INVALID\)$/,
    );
  });

  it.each([
    ...[
      '',
      'localhost',
      'Loopback',
      'unknown',
      '999.0.0.1',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/08',
    ],
    ...[
      '10.0.0.0/-1',
      '10.0.0.0/+8',
      '10.0.0.0/8 ',
      '10.0.0.0/8/8',
      '10.0.0.0/255.0.0.0',
      '10.0.0/8',
    ],
    ...[
      '10.0.0.0/1e1',
      'fd00::/129',
      '[fd00::]/8',
      'fe80::1%eth0',
      'fe80::%eth0/10',
      '10.0.0.1:80',
    ],
    ...[
      '::ffff:10.0.0.0/8',
      '::ffff:10.0.0.0/95',
      '10.0.0.0/8,10.1.0.0/16',
      true,
      10,
      null,
      undefined,
    ],
  ])('refuses the element %j by its place in the list', (element) => {
    expect(() => compileTrust(['127.0.0.1', element] as string[])).toThrow(
      /^trustProxy\[1\] must be an address or a network .* got .* \(SPW_CIDR_INVALID\)$/,
    );
  });

  it('names the option as its caller does', () => {
    expect(() => compileTrust(-1, "Express's 'trust proxy'")).toThrow(
      /^Express's 'trust proxy' must/,
    );
  });

  it('is not changed by a later change of the list', () => {
    const list = ['10.0.0.0/8'];
    const trust = compileTrust(list);
    list[0] = '0.0.0.0/1';
    expect(clientAddress(trust, '1.2.3.4', '6.6.6.6')).toBe('1.2.3.4');
  });
});
