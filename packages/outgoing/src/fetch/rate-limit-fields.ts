/** What an answer says of what is left: the `RateLimit` fields of all drafts, and `X-RateLimit-*` where asked for. */

import type { Fields } from './answer-fields.js';
import { serverTimeMs } from './retry-after.js';
import { parseList } from './structured-list.js';

/** What is left of one limit of the other side. */
export interface Left {
  /** What the other side calls the limit, to know it again in its next answer; nothing else is read from it. */
  readonly name: string;
  /** Units left, an integer from 0. */
  readonly units: number;
  /** Seconds until there are more, or for which these must last: from 0, possibly Infinity. */
  readonly seconds: number;
  /** By how many seconds at most {@link seconds} is too long, because it was rounded. */
  readonly excess: number;
  /** Units that there are in all, where the answer says so without a name to compare. */
  readonly limit?: number | undefined;
}

/** A longer field is ignored: no honest one is, and reading costs time. */
const MAX_LENGTH = 4096;

/** What is left of each limit that an answer tells of, and until when. */
export function readLeft(fields: Fields, nowMs: number, withX: boolean): readonly Left[] {
  // A cache answered: its fields are as old as what it kept.
  if (Number(fields.get('age') ?? 0) > 0) return [];
  const field = fields.get('ratelimit');
  if (field !== null && field.length <= MAX_LENGTH) {
    const left = readList(field);
    if (left?.length === 1) return [{ ...(left[0] as Left), limit: onlyQuota(fields) }];
    const found = left ?? readKeywords(field);
    if (found) return found;
  }
  return readTriple(fields, nowMs, withX);
}

/** The quota of the only policy. Several would have to be told apart by their names, on which nobody can rely. */
function onlyQuota(fields: Fields): number | undefined {
  const field = fields.get('ratelimit-policy');
  const [policy, more] = (field !== null && field.length <= MAX_LENGTH && parseList(field)) || [];
  return more ? undefined : integerOf(policy?.parameters.get('q'));
}

/**
 * The list of drafts 8 to 11: `"burst";r=7;t=1, "hour";r=4100;t=1875`. Items without `t` say nothing about when, and
 * are left out.
 */
function readList(field: string): readonly Left[] | undefined {
  return parseList(field)?.flatMap(({ name, parameters }) => {
    const units = integerOf(parameters.get('r'));
    const seconds = integerOf(parameters.get('t'));
    return units === undefined || seconds === undefined
      ? []
      : [{ name, units, seconds, excess: 1 }];
  });
}

/** The dictionary of draft 7: `limit=100, remaining=50, reset=30`. */
function readKeywords(field: string): readonly Left[] | undefined {
  const units = integerOf(/(?:^|,)[ \t]*remaining=(\d+)[ \t]*(?:,|$)/.exec(field)?.[1]);
  const seconds = integerOf(/(?:^|,)[ \t]*reset=(\d+)[ \t]*(?:,|$)/.exec(field)?.[1]);
  return one(units, seconds, integerOf(/(?:^|,)[ \t]*limit=(\d+)/.exec(field)?.[1]));
}

/** The fields of draft 6, whose reset is in seconds from now; else those with `X-`, whose reset may be a date. */
function readTriple(fields: Fields, nowMs: number, withX: boolean): readonly Left[] {
  const left = one(
    integerOf(fields.get('ratelimit-remaining')),
    integerOf(fields.get('ratelimit-reset')),
    integerOf(fields.get('ratelimit-limit')),
  );
  if (left || !withX) return left ?? [];
  const units = integerOf(fields.get('x-ratelimit-remaining'));
  const reset = fields.get('x-ratelimit-reset');
  if (reset === null || !/^\d{1,15}(?:\.\d{1,15})?$/.test(reset)) return [];
  const limit = integerOf(fields.get('x-ratelimit-limit'));
  return oneUntil(Number(reset), serverTimeMs(fields, nowMs), units, limit) ?? [];
}

/** `X-RateLimit-Reset` is in seconds from now, in seconds since the epoch or in ms since it: the size says which. */
function oneUntil(
  reset: number,
  serverMs: number,
  units: number | undefined,
  limit: number | undefined,
): readonly Left[] | undefined {
  if (reset < 1e9) return one(units, reset, limit);
  const areSeconds = reset < 1e11;
  const seconds = Math.max(0, (areSeconds ? reset * 1000 : reset) - serverMs) / 1000;
  // The server's own time is cut to a whole second, too.
  return one(units, seconds, limit, areSeconds ? 2 : 1);
}

function one(
  units: number | undefined,
  seconds: number | undefined,
  limit: number | undefined,
  excess = 1,
): readonly Left[] | undefined {
  if (units === undefined || seconds === undefined) return undefined;
  return [{ name: '', units, seconds, excess, limit }];
}

function integerOf(text: string | null | undefined): number | undefined {
  return text && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
