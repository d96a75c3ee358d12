/** What processes announce of their limiters, and how it is written in Redis. */

import type { Algorithm } from '@spillway/core';
import { countOf, MAX_CODES, MAX_LIMITERS, type Rule } from '@spillway/core/store';

/** The numbers that a limiter was declared with. */
export interface DeclaredNumbers {
  /** `concurrency`: permits for what is in progress. */
  readonly algorithm: Algorithm | 'concurrency';
  /** Units per window, or requests in progress at once. */
  readonly limit: number;
  readonly windowMs?: number;
  /** Units at once, of a token bucket whose burst is not its limit. */
  readonly burst?: number;
  /** Of those in progress, so many may be of requests that are not critical. */
  readonly open?: number;
  readonly leaseMs?: number;
}

/** A limiter that some process has announced. */
export interface KnownLimiter {
  readonly name: string;
  /**
   * Several while releases that differ run side by side; none for a limiter that keeps no count, such as a worker
   * shedder.
   */
  readonly declared: readonly DeclaredNumbers[];
  /** Whether a guard with a control has announced it: no other follows what is set live. */
  readonly isFollowed: boolean;
  /** When it is forgotten unless it is announced again, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** How often a process announces its limiters again. */
export const ANNOUNCED_EVERY_MS = 300_000;

/** So long, beyond the time in which its counts come to rest, is a limiter known after it was announced. */
const HELD_MS = 2 * ANNOUNCED_EVERY_MS;

/** Says that a guard with a control has the limiter. */
const FOLLOWED = '!followed';

/** A limiter as a process knows it; first of its rules the declared one. */
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
    if (declared) add(JSON.stringify(numbersOf(declared)), restMsOf(declared));
    for (const rule of rules) add(countOf({ rule }), restMsOf(rule));
    // Also of a limiter without a rule there is then something to note.
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

/** The codes in a reply of control-limiters.lua, by limiter; also those of which all counts are at rest. */
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

function numbersOf(rule: Rule): DeclaredNumbers {
  const { limit } = rule;
  if (rule.machine === 'leases') {
    const open = rule.open === limit ? {} : { open: rule.open };
    return { algorithm: 'concurrency', limit, ...open, leaseMs: rule.leaseUs / 1000 };
  }
  const windowMs = rule.windowUs / 1000;
  if (rule.machine === 'log') return { algorithm: 'sliding-window-log', limit, windowMs };
  if (rule.machine === 'window') {
    const algorithm = rule.sliding ? 'sliding-window-counter' : 'fixed-window';
    return { algorithm, limit, windowMs };
  }
  const burst = rule.burst === limit ? {} : { burst: rule.burst };
  return { algorithm: 'token-bucket', limit, windowMs, ...burst };
}

/** None if a later release, or somebody else, wrote something else there. */
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

/** After so long without a request, a count of the rule equals that of a key that was never used. */
function restMsOf(rule: Rule): number {
  switch (rule.machine) {
    case 'bucket':
      return Math.ceil((rule.tolUs + 1) / 1000);
    case 'window':
      return Math.ceil((2 * rule.windowUs) / 1000);
    case 'log':
      return Math.ceil(rule.windowUs / 1000);
    case 'leases':
      return Math.ceil(rule.leaseUs / 1000);
  }
}
