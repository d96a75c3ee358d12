/** Draws Mermaid blocks as pictures when the site is built, so that browsers load nothing for them. */

import { renderMermaidSVG } from 'beautiful-mermaid';
import type { MarkdownRenderer } from 'vitepress';

/** The colours of the theme, so that a picture is dark when the page is dark. */
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
      .replace(/^\s*@import .*$/m, '') // it would load a font from another server
      .replaceAll("'Inter', system-ui", 'var(--vp-font-family-base)')
      .replace('<svg ', '<svg role="img" aria-label="The diagram that the text describes" ');
    // As a string: in a template, Vue would drop the styles in the browser, and then also the last element.
    return `<div class="diagram" v-html="${md.utils.escapeHtml(JSON.stringify(svg))}"></div>`;
  };
}
