/** The lists of docs/options.md are what the sources say: `npx vitest run tests/readme/options.test.ts -u` writes them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allSources, type Option, optionsOf } from './option-tables.js';
import { ROOT } from './snippets.js';

const FILE = join(ROOT, 'docs', 'options.md');
const page = readFileSync(FILE, 'utf8');
/** `<!-- Interface -->`, of which file if several declare it, and whose options another list has; then the list. */
const MARKS = /(<!-- (\w+)(?: of (\S+))?(?: without (\w+(?: \w+)*))? -->\n\n)[\s\S]*?(?=\n\n|\n$)/g;
/** Options for tests, which the page names once. */
const FOR_TESTS: readonly string[] = ['random'];

/** Options that have their own section, to which every list links. */
const LINKS: Readonly<Record<string, string>> = {
  algorithm: 'guide.md#which-algorithm',
  anchor: 'algorithms.md#anchored-windows-fixedwindow-with-anchor-first-request',
  breaker: 'operations.md#when-redis-is-down',
  capacity: 'guide.md#requests-in-progress',
  control: 'operations.md#changing-settings-live',
  cost: 'guide.md#costs-and-what-counts',
  denialCache: 'how-it-works.md#the-denial-cache',
  headers: 'guide.md#headers',
  key: 'guide.md#which-key',
  localShare: 'operations.md#when-redis-is-down',
  mode: 'guide.md#trying-a-limit-in-shadow-mode',
  observers: 'metrics.md',
  onStoreError: 'operations.md#when-redis-is-down',
  preflights: 'guide.md#cors',
  priority: 'shedding.md#classes',
  'PacedFetchOptions.key': 'outgoing.md#a-fetch-that-takes-its-turn',
  'ScheduleOptions.priority': 'outgoing.md#start-work-at-a-pace',
  refundIf: 'guide.md#costs-and-what-counts',
  share: 'operations.md#rolling-out-a-limit',
  store: 'guide.md#redis',
  storeTimeout: 'operations.md#when-redis-is-down',
  trustProxy: 'deployment.md#proxies',
  validate: 'errors.md#probable-mistakes',
};

/** The items of a list, by what they say. */
function itemsOf(of: string, options: readonly Option[]): Map<string, string> {
  return new Map(
    options.map(({ name, type, defaultText, meaning }) => {
      const link = LINKS[`${of}.${name}`] ?? LINKS[name];
      const head = link ? `[\`${name}\`](${link})` : `\`${name}\``;
      const given = defaultText && `default ${defaultText}`;
      const facts = [type, given ?? 'required'].filter(Boolean).join('; ');
      return [`- ${head} (${facts}): ${meaning}`, name];
    }),
  );
}

/** A link to the section in which an index of the page is. */
function sectionAt(index: number): string {
  const [, heading = ''] = [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1) ?? [];
  const anchor = heading.toLowerCase().replaceAll(/[^\w -]/g, '');
  return `[${heading}](#${anchor.replaceAll(' ', '-')})`;
}

/** A list without the items that earlier lists have, whose sections it names. `homes`: the section of each item. */
function listOf(items: Map<string, string>, section: string, homes: Map<string, string>): string {
  const own: string[] = [];
  const elsewhere = new Map<string, string[]>();
  for (const [item, name] of items) {
    const home = homes.get(item);
    if (home) elsewhere.set(home, [...(elsewhere.get(home) ?? []), `\`${name}\``]);
    else own.push(wrapped(item, '  '));
    homes.set(item, home ?? section);
  }
  const others = [...elsewhere].map(([home, names]) => `${home}: ${names.join(', ')}`);
  if (others.length > 0) own.push(wrapped(`- As in ${others.join('; as in ')}.`, '  '));
  return own.join('\n');
}

/** Breaks a text into lines, but no code: `'draft-11'` of a line ends on it. */
function wrapped(text: string, indent: string): string {
  const words = text.match(/(?:`[^`]*`|[^\s`])+/g) ?? [];
  const lines = [''];
  for (const word of words) {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= 120) lines[lines.length - 1] = longer;
    else lines.push(indent + word);
  }
  return lines.join('\n');
}

it('shows every option of every maker once, with its type, its default and its meaning', async () => {
  const homes = new Map<string, string>();
  const filled = page.replace(MARKS, (_, begin, name, file, without = '', index) => {
    const others = String(without)
      .split(' ')
      .filter((other) => other !== '');
    const elsewhere = others.flatMap((other) =>
      optionsOf(other, file).map((option) => option.name),
    );
    const options = optionsOf(name, file).filter(
      (option) => ![...elsewhere, ...FOR_TESTS].includes(option.name),
    );
    return `${begin}${listOf(itemsOf(name, options), sectionAt(index), homes)}`;
  });
  await expect(filled).toMatchFileSnapshot(FILE);
});

/** Lists of names of options, which the compiler holds against their interfaces, by the names of these. */
const lists = [...page.matchAll(MARKS)].flatMap(([, , name = '', file = '']) => {
  const list = new RegExp(`: NamesOf<${name}(?:<\\w+>)?> = \\{([^}]*)\\}`).exec(allSources)?.[1];
  return list === undefined ? [] : [{ name, file, list }];
});

describe('the reader of sources', () => {
  it('finds lists of names to be held against', () => {
    expect(lists.length).toBeGreaterThan(12);
  });

  it.each(lists)('finds all options of $name', ({ name, file, list }) => {
    const known = [...list.matchAll(/(\w+): 1/g)].map(([, option]) => option);
    const found = optionsOf(name, file).map((option) => option.name);
    expect(found.sort()).toEqual(known.sort());
  });

  it('reads defaults that stand in a sentence, and such that are marked', () => {
    const found = optionsOf('IdempotencyOptions', 'packages/core/src/once/idempotency-options.ts');
    const byName = new Map(found.map((option) => [option.name, option]));
    expect(byName.get('keep')?.defaultText).toBe("`'24h'`");
    expect(byName.get('onStoreError')?.defaultText).toBe('`deny`');
    expect(byName.get('scope')?.defaultText).toBeUndefined();
    expect(byName.get('mismatchStatus')?.type).toBe('`409`, `422`');
  });

  it('gives every option a meaning', () => {
    const silent = [...page.matchAll(MARKS)].flatMap(([, , name = '', file = '']) =>
      optionsOf(name, file).filter(({ meaning }) => meaning === ''),
    );
    expect(silent).toEqual([]);
  });
});
