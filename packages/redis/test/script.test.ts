import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allCodecs } from '../src/algorithms/codecs.js';
import { productionScript, scriptOf, testScript } from '../src/codec/script.js';

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

  it('knows each algorithm by a letter that no other has', () => {
    const letters = allCodecs().flatMap(({ letter, debtLetter }) =>
      [letter, debtLetter ?? []].flat(),
    );
    expect(new Set(letters).size).toBe(letters.length);
  });

  it('is called by the name that Redis gives it', () => {
    expect(production.sha).toBe(createHash('sha1').update(production.text).digest('hex'));
    expect(production.sha).not.toBe(test.sha);
  });
});

it('is named by the SHA-1 of its text, however long', () => {
  for (let length = 0; length <= 300; length += 1) {
    const text = 'aé🚰\0'.repeat(length).slice(0, length);
    const sha = createHash('sha1').update(text).digest('hex');
    expect(scriptOf(text)).toEqual({ text, sha });
  }
});
