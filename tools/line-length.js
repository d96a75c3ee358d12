/** Fails if a line of prose or a comment passes 120 columns; code is held to 100 by the formatter. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const WIDTH = 120;

const files = [
  ...markdownIn('.'),
  ...markdownIn('docs', true),
  ...readdirSync(join(ROOT, 'apps')).flatMap((name) => markdownIn(`apps/${name}`)),
  ...readdirSync(join(ROOT, 'packages')).flatMap((name) => [
    ...markdownIn(`packages/${name}`),
    ...under(`packages/${name}/src`).filter((path) => /\.(ts|js|lua)$/.test(path)),
  ]),
];
const tooLong = files.flatMap(longLines);
for (const line of tooLong) console.error(line);
if (tooLong.length > 0) {
  console.error(`${tooLong.length} lines of prose or comments pass ${WIDTH} columns.`);
  process.exitCode = 1;
}

function under(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(ROOT.length + 1));
}

function markdownIn(folder, deep = false) {
  return (
    deep ? under(folder) : readdirSync(join(ROOT, folder)).map((it) => join(folder, it))
  ).filter((path) => path.endsWith('.md') && !path.endsWith('CHANGELOG.md')); // changelogs are generated
}

/**
 * `path:line: columns` of each line that is too long and could be broken. Skips tables, code blocks and single long
 * words.
 */
function longLines(path) {
  const isProse = path.endsWith('.md');
  let inCode = false;
  return readFileSync(join(ROOT, path), 'utf8')
    .split('\n')
    .flatMap((line, at) => {
      if (isProse && /^\s*```/.test(line)) inCode = !inCode;
      const counts = isProse ? !inCode && !line.startsWith('|') : /^\s*(\/\/|\/?\*|--)/.test(line);
      const breakable = /\S\s+\S/.test(line.replace(/^\s*(\/\/|\/?\*+|--|[-*>]|\d+\.)?\s*/, ''));
      const isLong = [...line].length > WIDTH;
      return counts && breakable && isLong
        ? [`${path}:${at + 1}: ${[...line].length} columns`]
        : [];
    });
}
