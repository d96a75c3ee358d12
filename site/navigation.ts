/** The menu of the site, ordered by what a reader wants to do. It lists every page of docs/. */

import type { DefaultTheme } from 'vitepress';
import { addressOf, PAGES, titleOf } from './pages.js';

/** A page, with the text of its link unless that is the page's first heading; or a folder, for all its pages. */
type Entry = string | readonly [source: string, text: string];

const GROUPS: Readonly<Record<string, readonly Entry[]>> = {
  Start: ['docs/README.md', 'docs/start/'],
  'Limit something': [
    'docs/guide.md',
    'docs/without-http.md',
    'docs/outgoing.md',
    'docs/idempotency.md',
    'docs/spending.md',
    'docs/shedding.md',
    ['docs/algorithms.md', 'The algorithms, exactly'],
    'docs/nestjs.md',
  ],
  Recipes: ['docs/recipes/'],
  'In production': [
    'docs/deployment.md',
    'docs/operations.md',
    'docs/choosing-a-number.md',
    'docs/redis.md',
    'docs/stored-format.md',
    'docs/managed-redis.md',
    'docs/durable-objects.md',
    'docs/metrics.md',
    'docs/who.md',
    'docs/testing.md',
    'docs/troubleshooting.md',
    'docs/3am.md',
    'docs/upgrading.md',
    'SECURITY.md',
  ],
  Decide: [
    'docs/comparison.md',
    'docs/faq.md',
    'docs/benchmarks.md',
    'docs/proof.md',
    ['docs/benchmark-tables.md', 'All tables'],
  ],
  'Migrate from another package': [['docs/migrating.md', 'All packages'], 'docs/migrating/'],
  'Look up': [
    ['docs/options.md', 'All options'],
    'docs/decisions.md',
    'docs/errors.md',
    'docs/words.md',
  ],
  Packages: ['packages/'],
  'How it is built': [
    'docs/how-it-works.md',
    'docs/writing-a-store.md',
    'docs/writing-an-adapter.md',
    'examples/store-postgres/README.md',
    'CONTRIBUTING.md',
  ],
  Decisions: ['docs/adr/'],
};

/** Only the group with the current page is open. */
export function sidebar(): DefaultTheme.SidebarItem[] {
  return Object.entries(GROUPS).map(([text, entries]) => ({
    text,
    collapsed: true,
    items: entries.flatMap(itemsOf),
  }));
}

function itemsOf(entry: Entry): DefaultTheme.SidebarItem[] {
  if (typeof entry === 'string' && entry.endsWith('/')) {
    return [...PAGES.keys()].filter((source) => source.startsWith(entry)).map((it) => itemOf(it));
  }
  return [typeof entry === 'string' ? itemOf(entry) : itemOf(...entry)];
}

function itemOf(source: string, text = titleOf(source)): DefaultTheme.SidebarItem {
  const page = addressOf(source);
  if (page === undefined) throw new Error(`the menu names ${source}, which is not there`);
  return { text, link: `/${page.slice(0, -'.md'.length)}` };
}
