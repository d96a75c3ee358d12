/** docs/decisions.md has every property, outcome and reason that the sources declare, and no others. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allSources, optionsOf } from './option-tables.js';
import { ROOT } from './snippets.js';

const page = readFileSync(join(ROOT, 'docs', 'decisions.md'), 'utf8');
const sections = new Map(
  page.split(/^## /m).map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

/** The names in the first column of a section's table. */
const rowsOf = (heading: string): string[] =>
  [...(sections.get(heading) ?? '').matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w[\w-]*)/g)].map(([, name = '']) => name),
  );

/** The members that a union type of strings has in the sources. */
const wordsOf = (union: string): string[] => {
  const [, words = ''] = new RegExp(`^export type ${union} =([^;]*);`, 'm').exec(allSources) ?? [];
  return [...words.matchAll(/'([\w-]+)'/g)].map(([, word = '']) => word);
};

/** An interface; the one that it extends, whose rows its section does not repeat; and its methods. */
interface Table {
  readonly name: string;
  readonly without?: string;
  readonly methods?: readonly string[];
}

const TABLES: readonly Table[] = [
  { name: 'Decision' },
  { name: 'Policy' },
  { name: 'GroupDecision' },
  { name: 'LimitersDecision' },
  { name: 'AlternativeDecision', without: 'LimitersDecision' },
  { name: 'Admission', methods: ['release'] },
  { name: 'DecisionEvent', without: 'Decision' },
];
const namesOf = (name: string): string[] =>
  optionsOf(name, 'packages/core/src/contract/decision.ts').map((property) => property.name);

describe('the tables are complete', () => {
  it.each(TABLES)('$name', ({ name, without, methods = [] }) => {
    const inherited = without ? namesOf(without) : [];
    const own = namesOf(name).filter((property) => !inherited.includes(property));
    expect(own.length).toBeGreaterThan(0);
    if (without)
      for (const property of own) expect(sections.get(name)).toContain(`\`${property}\``);
    else expect(rowsOf(name).sort()).toEqual([...own, ...methods].sort());
  });

  it.each([
    ['Outcomes', 'Outcome'],
    ['Reasons', 'Reason'],
  ])('%s', (heading, union) => {
    const words = wordsOf(union);
    expect(words.length).toBeGreaterThan(5);
    expect(rowsOf(heading).sort()).toEqual(words.sort());
  });
});
