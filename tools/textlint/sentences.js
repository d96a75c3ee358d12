/** Limits the number of words in a sentence. */

const MOST = 40;

/** The words of a node as a reader counts them: inline code is one word. */
function textOf(node) {
  if (node.type === 'Code' || node.type === 'Html' || node.type === 'Image') return 'Code'; // may begin a sentence
  if (node.type === 'Break') return ' ';
  return node.children ? node.children.map(textOf).join('') : (node.value ?? '');
}

/** Sentences of a paragraph. A point before a lower-case letter, as in "e.g. this", does not end a sentence. */
export function sentencesOf(text) {
  return text
    .split(/(?<=[.!?:;][)"']*)\s+(?=[^a-z\s])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

export const wordsOf = (sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

/** A rule of textlint, for paragraphs, items of lists and cells of tables. */
export function sentences({ Syntax, RuleError, report }) {
  const check = (node) => {
    for (const sentence of sentencesOf(textOf(node))) {
      const words = wordsOf(sentence);
      if (words <= MOST) continue;
      const start = sentence.split(/\s+/).slice(0, 6).join(' ');
      report(node, new RuleError(`a sentence of ${words} words (at most ${MOST}): "${start} ..."`));
    }
  };
  return { [Syntax.Paragraph]: check, [Syntax.TableCell]: check };
}
