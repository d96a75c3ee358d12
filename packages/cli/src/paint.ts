/** Colours, where there is a terminal. */

import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

interface Stream {
  readonly isTTY?: boolean;
  hasColors?(): boolean;
}

/** As commander does for its help: NO_COLOR before FORCE_COLOR, and both before what the terminal can do. */
export function isColoured(stream: Stream, env: NodeJS.ProcessEnv = process.env): boolean {
  const { NO_COLOR, FORCE_COLOR } = env;
  if (NO_COLOR || FORCE_COLOR === '0' || FORCE_COLOR === 'false') return false;
  return FORCE_COLOR ? true : stream.isTTY === true && stream.hasColors?.() === true;
}

/** The text in a style, if the stream shows colours. */
export function paint(style: Style, text: string, stream: Stream = process.stdout): string {
  // Whether the stream shows them was asked already. Node 20 does not know the option, and does not ask.
  return isColoured(stream) ? styleText(style, text, { validateStream: false }) : text;
}

const BY_WORD: Readonly<Record<string, Style>> = {
  off: 'red',
  block: 'red',
  shadow: 'yellow',
  enforce: 'green',
  allow: 'green',
};

/** What is set for a limiter or a key: red refuses nobody or somebody, yellow only looks. */
export function paintValue(text: string): string {
  const style = BY_WORD[/^[a-z]+/.exec(text)?.[0] ?? ''];
  return style ? paint(style, text) : text;
}
