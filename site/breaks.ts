/** Adds places where a line of a page may break. */

import type { MarkdownRenderer } from 'vitepress';

/** Names of metrics and long paths, which are wider than a column of a table. */
const LONG_CODE = /(?<=<code[^>]*>)[^<\s]{24,}(?=<\/code>)/;

export function allowBreaks(md: MarkdownRenderer): void {
  const { code_inline: code } = md.renderer.rules;
  md.renderer.rules['code_inline'] = (...args) =>
    (code?.(...args) ?? '').replace(LONG_CODE, (text) =>
      text.replaceAll(/[._/](?=\w)|\[|&lt;/g, '$&<wbr>'),
    );
  // Vue removes a line break between two elements, such as two links, so their words would have no space between them.
  md.renderer.rules['softbreak'] = () => ' ';
}
