import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allCodecs } from '../src/algorithms/codecs.js';
import { productionScript, testScript } from '../src/codec/script.js';

describe('the script', () => {
  const production = productionScript();
  const test = testScript();

  it('reads the clock of Redis once, and takes none from its caller', () => {
    expect(production.text.match(/TIME/g)).toHaveLength(1);
    expect(production.text).not.toContain('remove(ARGV)');
  });

  it('differs from the one for tests in its clock only', () => {
    const body = production.text.slice(production.text.indexOf('-- The first part of the script'));
    expect(test.text.endsWith(body)).toBe(true);
    const clock = test.text.slice(0, test.text.length - body.length);
    expect(clock.trim().split('\n')).toEqual([
      'local now = tonumber(table.remove(ARGV))',
      'local tick, spare = math.huge, 600000',
    ]);
  });

  it('has a letter of its own for each algorithm, and for buckets with debt', () => {
    const letters = allCodecs().flatMap(({ letter, debtLetter = letter }) => [letter, debtLetter]);
    expect(new Set(letters).size).toBe(allCodecs().length + 1);
  });

  it('is called by the name that Redis gives it', () => {
    expect(production.sha).toBe(createHash('sha1').update(production.text).digest('hex'));
    expect(production.sha).not.toBe(test.sha);
  });
});
