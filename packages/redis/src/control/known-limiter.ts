/** What processes announce about their limiters, and how it is written in Redis. */

import {
  countOf,
  type DeclaredNumbers,
  MAX_CODES,
  MAX_LIMITERS,
  type Rule,
} from '@spillway/core/store';

/** A limiter that some process has announced. */
export interface KnownLimiter {
  readonly name: string;
  /**
   * One entry for each set of declared numbers: several while different releases run. Empty for a limiter that keeps no
   * count, such as a worker shedder.
   */
  readonly declared: readonly DeclaredNumbers[];
  /** Whether a guard with a control has announced it. A live setting has no effect on other limiters. */
  readonly isFollowed: boolean;
  /** When it is forgotten unless a process announces it again, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** How often a process announces its limiters again. */
export const ANNOUNCED_EVERY_MS = 300_000;

/** After an announcement a limiter is known for so long, plus the time that its counts take to come to rest. */
const HELD_MS = 2 * ANNOUNCED_EVERY_MS;

/** The item that says that a guard with a control has the limiter. */
const FOLLOWED = '!followed';

/** A limiter as a process knows it. The first rule is the declared one. */
export interface Announced {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly isFollowed: boolean;
}

/** The arguments of control-announce.lua. */
export function encodeAnnouncement(limiters: readonly Announced[]): string[] {
  const args = [`${MAX_LIMITERS}`, `${MAX_CODES}`];
  for (const { name, rules, isFollowed } of limiters) {
    const items: string[] = [];
    const add = (text: string, restMs: number) => items.push(text, `${HELD_MS + restMs}`);
    const [declared] = rules;
    if (declared)
      add(JSON.stringify(declared.logic.declared(declared.soft ?? declared)), restMsOf(declared));
    for (const rule of rules) add(countOf({ rule }), restMsOf(rule));
    // A limiter without a rule has something to note, too.
    if (isFollowed) add(FOLLOWED, 0);
    args.push(name, `${items.length / 2}`, ...items);
  }
  return args;
}

/** The limiters in a reply of control-limiters.lua, by name. */
export function decodeLimiters(reply: unknown): KnownLimiter[] {
  const [now, ...texts] = (reply as readonly unknown[]).map(String);
  const limiters: KnownLimiter[] = [];
  for (let i = 0; i < texts.length; i += 2) {
    const items = itemsOf(texts[i + 1]).filter(({ untilMs }) => untilMs > Number(now));
    if (items.length === 0) continue;
    limiters.push({
      name: texts[i] as string,
      declared: items.flatMap(({ text }) => (text.startsWith('{') ? decodeNumbers(text) : [])),
      isFollowed: items.some(({ text }) => text === FOLLOWED),
      untilMs: Math.max(...items.map(({ untilMs }) => untilMs)),
    });
  }
  return limiters.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The codes in a reply of control-limiters.lua, by limiter. Some may have no counts any more. */
export function decodeCodes(reply: unknown): Map<string, readonly string[]> {
  const [, ...texts] = (reply as readonly unknown[]).map(String);
  const codes = new Map<string, readonly string[]>();
  for (let i = 0; i < texts.length; i += 2) {
    const items = itemsOf(texts[i + 1]).map(({ text }) => text);
    codes.set(
      texts[i] as string,
      items.filter((text) => /^[^{!]/.test(text)),
    );
  }
  return codes;
}

function itemsOf(stored = ''): { readonly text: string; readonly untilMs: number }[] {
  if (!stored.startsWith('1 ')) return [];
  const found = stored.matchAll(/ (\S+) (\d{1,16})(?= |$)/g);
  return [...found].map(([, text = '', until]) => ({ text, untilMs: Number(until) }));
}

/** Empty if the text is of a later release, or was written by somebody else. */
function decodeNumbers(text: string): DeclaredNumbers[] {
  try {
    const numbers = JSON.parse(text) as DeclaredNumbers;
    const { algorithm, ...rest } = numbers;
    const isPlain = Object.values(rest).every((value) => typeof value === 'number');
    return typeof algorithm === 'string' && isPlain ? [numbers] : [];
  } catch {
    return [];
  }
}

/** After so long without a request, a count of the rule is the same as that of a key that was never used. */
function restMsOf(rule: Rule): number {
  return Math.ceil(rule.logic.restUs(rule) / 1000);
}
