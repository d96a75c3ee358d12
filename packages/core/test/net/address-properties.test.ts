/** Properties of every address and every spelling, not only of examples. */

import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { canonicalAddress } from '../../src/net/address.js';
import { nearlyAddress, pick, randomGroups, randomIPv4, seeded, spell } from './random.js';

describe('canonicalAddress', () => {
  it('writes an IPv4 client in one way over IPv4 and dual-stack sockets, at every prefix', () => {
    const random = seeded(1);
    for (let round = 0; round < 2_000; round += 1) {
      const ipv4 = randomIPv4(random);
      const [a, b, c, d] = ipv4.split('.').map(Number) as [number, number, number, number];
      const mapped = [0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d];
      expect(canonicalAddress(spell(mapped, random), 32 + random(97))).toBe(ipv4);
    }
  });

  it('writes every spelling of an IPv6 address in one way, which is itself an address', () => {
    const random = seeded(2);
    for (let round = 0; round < 5_000; round += 1) {
      const groups = randomGroups(random);
      const plain = groups.map((group) => group.toString(16)).join(':');
      const canonical = canonicalAddress(plain, 128) as string;
      const spelling = spell(groups, random);
      expect(canonicalAddress(spelling, 128), spelling).toBe(canonical);
      expect(canonicalAddress(canonical, 128)).toBe(canonical);
      expect(canonical).toBe(new URL(`http://[${plain}]/`).hostname.slice(1, -1));
    }
  });

  it('merges two IPv6 clients if and only if their prefixes are equal', () => {
    const random = seeded(3);
    const bits = (groups: readonly number[]) =>
      groups.map((group) => group.toString(2).padStart(16, '0')).join('');
    for (let round = 0; round < 5_000; round += 1) {
      const one = randomGroups(random);
      const flipped = random(128);
      const other = one.with(flipped >> 4, one[flipped >> 4]! ^ (0x8000 >> (flipped & 15)));
      const prefix = 32 + random(97);
      const together =
        canonicalAddress(spell(one, random), prefix) ===
        canonicalAddress(spell(other, random), prefix);
      expect(together).toBe(bits(one).slice(0, prefix) === bits(other).slice(0, prefix));
    }
  });

  it('agrees with Node on what an address is', () => {
    const random = seeded(4);
    let valid = 0;
    for (let round = 0; round < 50_000; round += 1) {
      // Without zones, because Node's rule for them has changed between its versions.
      const text = nearlyAddress(random).replaceAll('%', '');
      const isAddress = isIP(text) !== 0;
      if (isAddress) valid += 1;
      expect(canonicalAddress(text) !== undefined, JSON.stringify(text)).toBe(isAddress);
    }
    expect(valid).toBeGreaterThan(5_000);
  });

  it('returns nothing that is not an address or a network', () => {
    const random = seeded(5);
    for (let round = 0; round < 20_000; round += 1) {
      const canonical = canonicalAddress(nearlyAddress(random), pick(random, [48, 56, 64, 128]));
      if (canonical === undefined) continue;
      expect(isIP(canonical.replace(/\/(?:48|56|64)$/, ''))).not.toBe(0);
    }
  });
});
