/** X-Forwarded-For is read from the right, lazily, up to a limit. */

import { describe, expect, it } from 'vitest';
import { forwardedAddresses } from '../../src/net/forwarded.js';
import { nearlyAddress, pick, seeded } from './random.js';

const ENTRIES: readonly [entry: string, address: string | undefined][] = [
  ['1.2.3.4', '1.2.3.4'],
  [' \t1.2.3.4\t ', '1.2.3.4'],
  ['1.2.3.4:5678', '1.2.3.4'],
  ['1.2.3.4:0', '1.2.3.4'],
  ['1.2.3.4:65535', '1.2.3.4'],
  ['2001:db8::1', '2001:db8::1'],
  ['2001:DB8::1', '2001:DB8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['[::ffff:1.2.3.4]:443', '::ffff:1.2.3.4'],
  ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
  ['2001:db8::1:443', '2001:db8::1:443'],
  ['::', '::'],
  ['unknown', undefined],
  ['_hidden', undefined],
  ['999.1.1.1', undefined],
  ['<script>', undefined],
  ['1.2.3.4:', undefined],
  ['1.2.3.4:65536', undefined],
  ['1.2.3.4:000080', undefined],
  ['1.2.3.4:8o', undefined],
  ['1.2.3.4:-1', undefined],
  ['1.2.3.4: 80', undefined],
  ['1.2.3.4:80:80', undefined],
  ['1.2.3.4 5.6.7.8', undefined],
  ['::ffff:1.2.3.4:80', undefined],
  ['[1.2.3.4]', undefined],
  ['[1.2.3.4]:80', undefined],
  ['[2001:db8::1', undefined],
  ['2001:db8::1]', undefined],
  ['[2001:db8::1]443', undefined],
  ['[2001:db8::1]:', undefined],
  ['[2001:db8::1]:65536', undefined],
  ['[2001:db8::1]]', undefined],
  ['[[2001:db8::1]]', undefined],
  ['[]', undefined],
  ['[', undefined],
  ['unknown:80', undefined],
  ['unix:', undefined],
  ['"1.2.3.4"', undefined],
  ['for=1.2.3.4', undefined],
  ['1.2.3.4\u00a0', undefined],
];

describe('forwardedAddresses', () => {
  it.each(ENTRIES)('reads the entry %j as %j', (entry, address) => {
    expect([...forwardedAddresses(entry)]).toEqual([address]);
    expect([...forwardedAddresses(`8.8.8.8,${entry},9.9.9.9`)]).toEqual([
      '9.9.9.9',
      address,
      '8.8.8.8',
    ]);
  });

  it('lists the nearest hop first', () => {
    expect([...forwardedAddresses('1.1.1.1, 2.2.2.2:80,  [::3]:443')]).toEqual([
      '::3',
      '2.2.2.2',
      '1.1.1.1',
    ]);
  });

  it.each([
    ['1.2.3.4,', ['1.2.3.4']],
    [', 1.2.3.4', ['1.2.3.4']],
    [',1.1.1.1,,2.2.2.2,', ['2.2.2.2', '1.1.1.1']],
    ['1.1.1.1 , \t , 2.2.2.2', ['2.2.2.2', '1.1.1.1']],
    ['unknown,,', [undefined]],
    ['', []],
    [' , ,\t,', []],
  ])('ignores the empty elements of %j', (header, addresses) => {
    expect([...forwardedAddresses(header)]).toEqual(addresses);
  });

  it('has one entry for each element that is not empty, in every text', () => {
    const random = seeded(6);
    for (let round = 0; round < 5_000; round += 1) {
      const entries = Array.from({ length: 1 + random(6) }, () =>
        pick(random, ['1.2.3.4', ' ', '[::1]:8', nearlyAddress(random)]),
      );
      const apart = entries.flatMap((entry) => [...forwardedAddresses(entry)]);
      expect([...forwardedAddresses(entries.join(','))]).toEqual(apart.reverse());
    }
  });

  it('reads no more than 100 entries and counts the rest as one invalid entry', () => {
    const exactly = [...forwardedAddresses(Array(100).fill('1.2.3.4').join(','))];
    expect(exactly).toEqual(Array(100).fill('1.2.3.4'));
    const more = [...forwardedAddresses(Array(400).fill('1.2.3.4').join(','))];
    expect(more).toEqual([...exactly, undefined]);
  });

  it('reads no more than the last 8 KiB and never half an entry', () => {
    const padding = ' '.repeat(8192 - '2.3.4,9.9.9.9'.length);
    const cutInside = `1.2.3.4${padding},9.9.9.9`;
    expect(cutInside.slice(-8192).startsWith('2.3.4 ')).toBe(true);
    expect([...forwardedAddresses(cutInside)]).toEqual(['9.9.9.9', undefined]);
    const cutToAnAddress = `11.2.3.4${' '.repeat(8192 - '1.2.3.4,9.9.9.9'.length)},9.9.9.9`;
    expect([...forwardedAddresses(cutToAnAddress)]).toEqual(['9.9.9.9', undefined]);
  });

  it('takes bounded time for a hostile text', () => {
    for (const unit of [',', ' ', '[', ':', '1.2.3.4', '[::1]:', 'a,', ' ,']) {
      const started = performance.now();
      expect([...forwardedAddresses(unit.repeat(1_000_000))].length).toBeLessThanOrEqual(101);
      expect(performance.now() - started).toBeLessThan(1_000);
    }
  });
});
