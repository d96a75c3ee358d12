/** Converts the comments of a source to a Markdown page, on the same line numbers. */

import { parseSync } from 'oxc-parser';

const lineAt = (source, offset) => source.slice(0, offset).split('\n').length - 1;
const isAfterCode = (source, offset) =>
  /\S/.test(source.slice(source.lastIndexOf('\n', offset - 1) + 1, offset));

/** A block comment without its stars, line by line. */
const linesOf = ({ type, value }) =>
  type === 'Line'
    ? [value.trim()]
    : value.split('\n').map((line) => line.replace(/^\s*\*+ ?/, '').trimEnd());

/**
 * Makes each comment after code an item of a list, because a comment on the next line belongs to other code. Lines that
 * start with a tag such as `@throws` begin an item, too.
 */
export function commentsOf(path, source) {
  const page = new Array(source.split('\n').length).fill('');
  for (const comment of parseSync(path, source).comments) {
    if (/^\s*(biome-ignore|@vitest|\/ <|#__PURE__|@__)/.test(comment.value)) continue;
    const first = lineAt(source, comment.start);
    const mark = isAfterCode(source, comment.start) ? '- ' : '';
    linesOf(comment).forEach((line, at) => {
      page[first + at] = at === 0 ? `${mark}${line.trimStart()}` : line.replace(/^@/, '- @');
    });
  }
  return page.join('\n');
}
