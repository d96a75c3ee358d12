/** Blocks of Mermaid as pictures in the page, drawn when the site is built, so that browsers load nothing for it. */

import { renderMermaidSVG } from 'beautiful-mermaid';
import type { MarkdownRenderer } from 'vitepress';

/** The colours are those of the theme, so that a picture is dark when the page is. */
const COLOURS = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  muted: 'var(--vp-c-text-1)',
  line: 'var(--vp-c-text-2)',
  border: 'var(--vp-c-text-3)',
};

export function renderMermaid(md: MarkdownRenderer): void {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    if (token?.info.trim() !== 'mermaid') {
      return fence?.(tokens, index, options, env, self) ?? '';
    }
    const svg = renderMermaidSVG(token.content, { ...COLOURS, transparent: true })
      .replace(/^\s*@import .*$/m, '') // a font from elsewhere
      .replaceAll("'Inter', system-ui", 'var(--vp-font-family-base)')
      .replace('<svg ', '<svg role="img" aria-label="The diagram that the text describes" ');
    // As a text: of a template Vue would leave out the styles in the browser, and then lose what stands last.
    return `<div class="diagram" v-html="${md.utils.escapeHtml(JSON.stringify(svg))}"></div>`;
  };
}
