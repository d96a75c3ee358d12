import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type UserConfig } from 'vitepress';
import { allowBreaks } from '../breaks.js';
import { rewriteLinks, slugify } from '../links.js';
import { renderMermaid } from '../mermaid.js';
import { sidebar } from '../navigation.js';
import { PAGES, REPOSITORY, ROOT } from '../pages.js';
import { labelCells } from '../tables.js';

type Plugin = Extract<
  NonNullable<NonNullable<UserConfig['vite']>['plugins']>[number],
  { name: string }
>;

const HERE = fileURLToPath(import.meta.url);

/** The pages are outside of this package, so Vite does not find the packages that it has installed. */
const vueOfTheSite: Plugin = {
  name: 'vue-of-the-site',
  enforce: 'pre',
  async resolveId(id, importer) {
    if (!/^vue(\/|$)/.test(id) || importer === HERE) return null;
    return await this.resolve(id, HERE, { skipSelf: true });
  },
};

/** Whether there is an API reference: `npm run docs` makes it from the doc comments, and then sets this variable. */
const hasApi = process.env['SITE_API'] === '1';

// `/` if the site has its own domain; `/<repository>/` on GitHub Pages, where this variable is set.
const base = process.env['SITE_BASE'] ?? '/';

export default defineConfig({
  title: 'Spillway',
  description: 'Rate limiters and load shedders for HTTP services in JavaScript',
  lang: 'en',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}logo.svg` }]],
  base,
  srcDir: ROOT,
  outDir: `${ROOT}/site/dist`,
  cacheDir: `${ROOT}/site/.vitepress/cache`,
  srcExclude: [
    'README.md',
    '{apps,bench,ops,tests,tools}/**',
    '{packages,examples}/*/!(README).md',
    '{packages,examples}/*/*/**',
    'site/!(index).md',
    ...(hasApi ? [] : ['site/api/**']),
  ],
  rewrites: { ...Object.fromEntries(PAGES), 'site/api/:path*': 'api/:path*' },
  cleanUrls: true,
  metaChunk: true,
  markdown: {
    anchor: { slugify },
    toc: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
    config(md) {
      rewriteLinks(md);
      renderMermaid(md);
      allowBreaks(md);
      labelCells(md);
    },
  },
  vite: {
    plugins: [vueOfTheSite],
    publicDir: `${ROOT}/site/public`,
    // Pictures stay files, because site.css selects by their names those that a phone must not shrink.
    build: { chunkSizeWarningLimit: 2000, assetsInlineLimit: 0 },
  },
  buildEnd: ({ outDir }) => copyFileSync(`${ROOT}/llms.txt`, `${outDir}/llms.txt`),
  themeConfig: {
    logo: { src: '/logo.svg', alt: 'Spillway: water flows over a dam' },
    nav: [
      { text: 'Documentation', link: '/documentation' },
      { text: 'Guide', link: '/guide' },
      { text: 'Recipes', link: '/documentation#recipes' },
      { text: 'Errors', link: '/errors' },
      ...(hasApi ? [{ text: 'API', link: '/api/README' }] : []),
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // The API reference repeats every name many times, so pages that explain a name rank first.
          searchOptions: { boostDocument: (id: string) => (id.includes('/api/') ? 0.1 : 1) },
        },
      },
    },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/blob/main/:path`, text: 'Source' },
    docFooter: { prev: false, next: false },
  },
});
