/** Phrases that our pages avoid, with replacements. They are matched as whole words, in upper or lower case. */

export const PHRASES = [
  ['all the same', 'anyway, still'],
  ['all who', 'everyone who'],
  ['by itself', 'alone, separately; or leave it out'],
  ['by so much', 'by how much'],
  ['calls that go out', 'outgoing calls'],
  ['entries that are over', 'expired entries'],
  ['floor', 'layer'],
  ['for everybody who', 'for readers who'],
  ['in progress of', 'in flight'],
  ['is over', 'ended, expired'],
  ['is told', 'receives, reads'],
  ['are told', 'receive, read'],
  ['kept answer', 'stored response'],
  ['kept answers', 'stored responses'],
  ['of its own', 'separate; or leave it out'],
  ['refusal', 'rejection'],
  ['refusals', 'rejections'],
  ['refuse', 'reject'],
  ['refused', 'rejected'],
  ['refuses', 'rejects'],
  ['remembered refusal', 'cached rejection'],
  ['remembered refusals', 'cached rejections'],
  ['stand-in', 'fallback counter'],
  ['stand-ins', 'fallback counters'],
  ['that are over', 'expired'],
  ['what is none', 'a noun'],
  ['whoever', 'anyone who'],
];

/** An exception: "refuse connections" is the usual term for ports. */
const USUAL = '\\s+connections?\\b';

const PATTERN = new RegExp(
  `(?<![\\w-])(${PHRASES.map(([phrase]) => phrase.replaceAll(' ', '\\s+')).join('|')})(?![\\w-])(?!${USUAL})`,
  'gi',
);
const INSTEAD = new Map(PHRASES);

/** A rule of textlint: each phrase of the list is a mistake. Code is not checked. */
export function phrases({ Syntax, RuleError, report, getSource, locator }) {
  return {
    [Syntax.Str](node) {
      for (const { 0: found, index } of getSource(node).matchAll(PATTERN)) {
        const phrase = found.toLowerCase().replaceAll(/\s+/g, ' ');
        const message = `"${phrase}": write ${INSTEAD.get(phrase)}`;
        report(node, new RuleError(message, { padding: locator.at(index) }));
      }
    },
  };
}
