/** One client has one text, and two clients have two, however their addresses are written. */

import { describe, expect, it } from 'vitest';
import { canonicalAddress } from '../../src/net/address.js';

const CANONICAL: readonly [text: string, prefix: number, canonical: string][] = [
  ['192.0.2.1', 64, '192.0.2.1'],
  ['0.0.0.0', 64, '0.0.0.0'],
  ['255.255.255.255', 32, '255.255.255.255'],
  ['::ffff:192.0.2.1', 64, '192.0.2.1'],
  ['::FFFF:192.0.2.1', 64, '192.0.2.1'],
  ['::ffff:c000:201', 64, '192.0.2.1'],
  ['0:0:0:0:0:ffff:c000:0201', 64, '192.0.2.1'],
  ['0000:0000:0000:0000:0000:FFFF:192.0.2.1', 64, '192.0.2.1'],
  ['::ffff:192.0.2.1%eth0', 64, '192.0.2.1'],
  ['::ffff:255.255.255.255', 64, '255.255.255.255'],
  ['64:ff9b::192.0.2.1', 64, '192.0.2.1'],
  ['64:ff9b::c000:201', 64, '192.0.2.1'],
  ['64:ff9b:1::c000:201', 64, '64:ff9b:1::/64'],
  ['64:ff9c::c000:201', 64, '64:ff9c::/64'],
  ['64:ff9b::1:c000:201', 64, '64:ff9b::/64'],
  ['::1:ffff:192.0.2.1', 128, '::1:ffff:c000:201'],
  ['1::ffff:192.0.2.1', 64, '1::/64'],
  ['::1', 128, '::1'],
  ['::', 128, '::'],
  ['::1', 64, '::/64'],
  ['2001:db8::1', 64, '2001:db8::/64'],
  ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
  ['2001:db8:1:2ff:3:4:5:6', 56, '2001:db8:1:200::/56'],
  ['2001:db8:1:2:3:4:5:6', 48, '2001:db8:1::/48'],
  ['2001:db8:1:2:3:4:5:6', 33, '2001:db8::/33'],
  ['2001:db8:ffff:2:3:4:5:6', 33, '2001:db8:8000::/33'],
  ['2001:db8:1:2:3:4:5:7', 127, '2001:db8:1:2:3:4:5:6/127'],
  ['fe80::1%eth0', 128, 'fe80::1'],
  ['fe80::1%eth0.100', 128, 'fe80::1'],
  ['::1.2.3.4', 128, '::102:304'],
  ['::ffff:0:1.2.3.4', 128, '::ffff:0:102:304'],
];

/** RFC 5952 sections 4.1 to 4.3. */
const WRITTEN: readonly [text: string, canonical: string][] = [
  ['2001:0db8::0001', '2001:db8::1'],
  ['2001:db8:0:0:0:0:2:1', '2001:db8::2:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:DB8::ABCD', '2001:db8::abcd'],
  ['1:0:0:0:0:0:0:0', '1::'],
];

const INVALID: readonly string[] = [
  ...['', ' ', 'unknown', '_hidden', 'localhost', '<script>', '-', '.', ':', '...', '1', '*'],
  ...['1.2.3', '1.2.3.4.5', '1.2.3.', '.1.2.3', '1..2.3', '999.1.1.1', '256.1.1.1', '1.2.3.256'],
  ...[
    '01.2.3.4',
    '1.2.3.04',
    '00.0.0.0',
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '127.1',
    '1e1.2.3.4',
  ],
  ...[
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.4\n',
    '1.2.3.4\0',
    '+1.2.3.4',
    '-1.2.3.4',
    '1.2.3.4/32',
    '1.2.3.4%1',
  ],
  ...['1.2.3.4:80', '[::1]', '[::1]:80', '::1/128', '"1.2.3.4"', '１.2.3.4', '1。2.3.4', '١.2.3.4'],
  ...[
    ':::',
    ':1',
    '1:',
    '1::2::3',
    '::1::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8:',
  ],
  ...[
    '1:2:3:4::5:6:7:8',
    '::1:2:3:4:5:6:7:8',
    '12345::',
    '00001::',
    'g::',
    '::-1',
    '::0x1',
    ':1::2',
  ],
  ...['::1.2.3', '::1.2.3.256', '::01.2.3.4', '::1.2.3.4:5', '1.2.3.4::', '1:2:3:4:5:6:7:1.2.3.4'],
  ...[
    '1:2:3:4:5:1.2.3.4',
    '::abc.2.3.4',
    '::%',
    '::1%',
    '%eth0',
    'fe80::1%eth 0',
    'fe80::1%<b>',
    '::%<b>',
  ],
];

describe('canonicalAddress', () => {
  it.each(CANONICAL)('writes %s at /%i as %s', (text, prefix, canonical) => {
    expect(canonicalAddress(text, prefix)).toBe(canonical);
  });

  it.each(WRITTEN)('writes %s as %s, as RFC 5952 recommends', (text, canonical) => {
    expect(canonicalAddress(text, 128)).toBe(canonical);
  });

  it.each(INVALID)('takes %j for no address', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });

  it('takes anything that is not a string for no address', () => {
    for (const value of [undefined, null, 0, 2130706433, true, {}, ['1.2.3.4']]) {
      expect(canonicalAddress(value as string)).toBeUndefined();
    }
  });

  it('cuts IPv6 to 64 bits unless told otherwise', () => {
    expect(canonicalAddress('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
  });

  it.each([31, 129, 0, -64, 56.5, Number.NaN, Number.POSITIVE_INFINITY, '64', null])(
    'refuses an ipv6Prefix of %j, whatever the address',
    (prefix) => {
      expect(() => canonicalAddress('192.0.2.1', prefix as number)).toThrow(
        /^ipv6Prefix must be .* got .* \(SPW_OPTION_INVALID\)$/,
      );
    },
  );

  it('looks at no more than 64 characters', () => {
    expect(canonicalAddress(`fe80::1%${'e'.repeat(56)}`, 128)).toBe('fe80::1');
    expect(canonicalAddress(`fe80::1%${'e'.repeat(57)}`, 128)).toBeUndefined();
    for (const unit of ['1.', ':', '0', 'f:', '::ffff:', '%', '1.2.3.4,']) {
      const started = performance.now();
      expect(canonicalAddress(unit.repeat(1_000_000))).toBeUndefined();
      expect(performance.now() - started).toBeLessThan(1_000);
    }
  });
});
