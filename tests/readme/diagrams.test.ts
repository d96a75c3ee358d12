/** Every diagram of a page is one that Mermaid understands: GitHub shows an error in place of any other. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import DOMPurify from 'dompurify';
import { describe, expect, it } from 'vitest';
import { markdownFiles, ROOT } from './snippets.js';

// To clean labels, Mermaid needs a browser, even if it only parses.
Object.assign(DOMPurify, { addHook: () => undefined, sanitize: (text: string) => text });
const { default: mermaid } = await import('mermaid');

const diagrams = markdownFiles().flatMap((file) =>
  [...readFileSync(join(ROOT, file), 'utf8').matchAll(/```mermaid\n([\s\S]*?)```/g)].map(
    ([, diagram = ''], at) => ({ name: `${file}, diagram ${at + 1}`, diagram }),
  ),
);

describe('Mermaid', () => {
  it.each(diagrams)('parses $name', async ({ diagram }) => {
    expect(await mermaid.parse(diagram)).toHaveProperty('diagramType');
  });

  it('would not parse two edges in one line', async () => {
    expect(diagrams.length).toBeGreaterThan(0);
    await expect(mermaid.parse('flowchart TB\n  a --> b    c --> b\n')).rejects.toThrow();
  });
});
