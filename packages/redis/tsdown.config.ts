import { readFile } from 'node:fs/promises';
import { library } from '../../tools/tsdown.js';

/** Imports Lua as text, without comments and most spaces, which neither a bundle nor a server needs. */
const luaAsText = {
  name: 'lua-as-text',
  async load(id: string) {
    if (!id.endsWith('.lua')) return undefined;
    const lines = (await readFile(id, 'utf8')).replace(/^\s*(--.*)?\n|^ +| +-- .*$/gm, '');
    const text = lines.replace(/('[^']*'|"[^"]*")| ?([=~<>+*/,(){}]+) ?/g, '$1$2');
    return { code: `export default ${JSON.stringify(text)};`, moduleType: 'js' as const };
  },
};

export default library(['index', 'testing'], [luaAsText]);
