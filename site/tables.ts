/** Labels each cell of a table with the heading of its column. Phones show the labels instead of the heading row. */

import type { MarkdownRenderer } from 'vitepress';

export function labelCells(md: MarkdownRenderer): void {
  md.core.ruler.push('label-cells', ({ tokens }) => {
    let headings: string[] = [];
    let column = 0;
    for (const [at, token] of tokens.entries()) {
      if (token.type === 'table_open') headings = [];
      if (token.type === 'tr_open') column = 0;
      if (token.type === 'th_open') headings.push(tokens[at + 1]?.content ?? '');
      if (token.type !== 'td_open') continue;
      const heading = headings[column++];
      if (heading) token.attrSet('data-label', heading);
    }
  });
}
