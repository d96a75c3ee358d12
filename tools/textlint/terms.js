/** A rule of textlint: a page that uses a term of ours explains it, or links to a page that does. */

import { posix } from 'node:path';

const GLOSSARY = 'docs/words.md';

/** The pages that explain a term, beside the glossary. */
export const TERMS = {
  'fencing token': ['docs/idempotency.md'],
  'hash slot': ['docs/redis.md'],
  lease: ['docs/guide.md', 'docs/idempotency.md', 'docs/options.md'],
  oracle: ['packages/conformance/README.md'],
};

/** Case-sensitive, because Oracle is a company. */
const patternOf = (term) => new RegExp(`\\b${term}s?\\b`);

/** A rule of textlint. It skips decision records, which are for contributors. `page` is the path in the repository. */
export function terms({ Syntax, RuleError, report }, { page }) {
  if (page.startsWith('docs/adr/')) return {};
  const used = new Map();
  const linked = new Set([page]);
  const follow = ({ url }) => {
    if (!/^[a-z]+:/.test(url)) linked.add(posix.join(posix.dirname(page), url.replace(/#.*/, '')));
  };
  return {
    [Syntax.Link]: follow,
    [Syntax.Definition]: follow,
    [Syntax.Str](node) {
      for (const term of Object.keys(TERMS)) {
        if (!used.has(term) && patternOf(term).test(node.value)) used.set(term, node);
      }
    },
    [Syntax.DocumentExit]() {
      for (const [term, node] of used) {
        const homes = [GLOSSARY, ...TERMS[term]];
        if (homes.some((home) => linked.has(home))) continue;
        report(node, new RuleError(`"${term}" is not explained: link to ${homes.join(' or ')}`));
      }
    },
  };
}
