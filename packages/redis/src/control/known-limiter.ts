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
   * The declared numbers of the limiter. The list has several items while different releases run, and none for a
   * limiter without counts, such as a worker shedder.
   */
  readonly declared: readonly DeclaredNumbers[];
  /** Whether the limiter was announced by a control. Otherwise live settings have no effect on it. */
  readonly isFollowed: boolean;
  /** The time at which the entry expires if no process announces the limiter again, in milliseconds since the epoch. */
  readonly untilMs: number;
}

export const ANNOUNCED_EVERY_MS = 300_000;

/** How long an announcement is kept, in addition to the time for which the counts of its rule are kept. */
const HELD_MS = 2 * ANNOUNCED_EVERY_MS;

/** In an announcement, this item stands for `isFollowed`: the limiter follows live settings. */
const FOLLOWED = '!followed';

export interface Announced {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly isFollowed: boolean;
}

export function encodeAnnouncement(limiters: readonly Announced[]): string[] {
  const args = [`${MAX_LIMITERS}`, `${MAX_CODES}`];
  for (const { name, rules, isFollowed } of limiters) {
    const items: string[] = [];
    const addItem = (text: string, restMs: number) => items.push(text, `${HELD_MS + restMs}`);
    const [declared] = rules;
    if (declared) {
      const numbers = declared.logic.declared(declared.soft ?? declared);
      addItem(JSON.stringify(numbers), restMsOf(declared));
    }
    for (const rule of rules) addItem(countOf({ rule }), restMsOf(rule));
    // Without this item, a limiter that has no rule would have no items.
    if (isFollowed) addItem(FOLLOWED, 0);
    args.push(name, `${items.length / 2}`, ...items);
  }
  return args;
}

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

/** The codes of each limiter's counts, from a reply of control-limiters.lua. Some of these counts may have expired. */
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

/** Returns an empty list if the text is invalid or was written by a later release. */
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

function restMsOf(rule: Rule): number {
  return Math.ceil(rule.logic.expiresAfterUs(rule) / 1000);
}
