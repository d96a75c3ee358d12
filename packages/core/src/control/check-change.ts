import { checkFlag, checkList } from '../base/check-shapes.js';
import { checkName, isPlainObject, oneOf, shareFromZero } from '../base/checks.js';
import { type Duration, parseDuration } from '../base/duration.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import type { LimiterSettings, LiveLimits } from '../contract/control.js';
import { MODES } from '../contract/decision.js';
import { liveNumbers } from '../limits/live-numbers.js';
import { ruleFrom } from '../limits/rule-options.js';
import {
  type ChangeNote,
  type CheckedChange,
  type ClearableOfKey,
  type ClearableSetting,
  EVERY_LIMITER,
  type OverrideNote,
  type Setting,
} from './override.js';

const CLEARABLE: readonly ClearableSetting[] = ['mode', 'share', 'limits'];
const OF_KEY: readonly ClearableOfKey[] = ['ruling', 'limits'];
const LIMITS = ['limit', 'window', 'burst', 'factor', 'allPlans'] as const;
const NOTE = ['by', 'because', 'for'] as const;
const SHORTEST_US = 1_000_000;
const LONGEST_US = 30 * 86_400_000_000;
const LONGEST_KEY = 1_024;
/** How long a reset stays in the control: longer than any process needs to read it. */
const RESET_MS = 60_000;

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_OPTION_INVALID`, and for limits the codes of `rateLimit` */
export function checkSet(
  limiter: string,
  settings: LimiterSettings,
  note: OverrideNote,
): CheckedChange {
  const set: Setting[] = [];
  for (const [what, value] of entriesOf('settings', settings, CLEARABLE)) {
    const setting = { what, value } as Setting;
    checkSetting(setting);
    if (what === 'limits') checkReach(limiter, value as LiveLimits);
    set.push(setting);
  }
  if (set.length === 0) throw mustName('settings', 'a mode, a share or limits');
  return { ...checkWho(limiter, note), set, clear: [], durationMs: durationOf(note.for) };
}

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_OPTION_INVALID` */
export function checkClear(
  limiter: string,
  note: ChangeNote,
  only: readonly ClearableSetting[] = CLEARABLE,
): CheckedChange {
  const clear = checkOnly(only, CLEARABLE).map((what) => ({ what }));
  return { ...checkWho(limiter, note), set: [], clear, durationMs: null };
}

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID` */
export function checkKeyOverride(
  limiter: string,
  key: string,
  value: 'allow' | 'block' | 'reset',
  note: OverrideNote,
): CheckedChange {
  checkKey(key);
  const who = checkWho(limiter, note);
  if (value === 'reset') {
    return { ...who, set: [{ what: 'reset', key, value }], clear: [], durationMs: RESET_MS };
  }
  const durationMs = durationOf(note.for);
  return { ...who, set: [{ what: 'key', key, value }], clear: [], durationMs };
}

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID`, and the codes of `rateLimit` */
export function checkKeyLimits(
  limiter: string,
  key: string,
  limits: LiveLimits,
  note: OverrideNote,
): CheckedChange {
  const setting = { what: 'key-limits', key, value: limits } as const;
  checkSetting(setting);
  checkReach(limiter, limits);
  const durationMs = durationOf(note?.for);
  return { ...checkWho(limiter, note), set: [setting], clear: [], durationMs };
}

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID` */
export function checkClearKey(
  limiter: string,
  key: string,
  note: ChangeNote,
  only: readonly ClearableOfKey[] = OF_KEY,
): CheckedChange {
  checkKey(key);
  const clear = checkOnly(only, OF_KEY).map((what) => {
    return { what: what === 'limits' ? ('key-limits' as const) : ('key' as const), key };
  });
  return { ...checkWho(limiter, note), set: [], clear, durationMs: null };
}

/**
 * Checks a setting. Settings read from Redis are checked too, because other software may have written them.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_KEY_INVALID`, and for limits the codes of `rateLimit`
 */
export function checkSetting(setting: Setting): void {
  const { what, value } = setting;
  if (what === 'key' || what === 'key-limits' || what === 'reset') checkKey(setting.key);
  if (what === 'mode') oneOf('mode', value, MODES);
  else if (what === 'share') shareFromZero('share', value);
  else if (what === 'limits' || what === 'key-limits') checkLimits(value);
  else if (what === 'key') oneOf('what is set for a key', value, ['allow', 'block']);
  else if (what !== 'reset') {
    throw mustBe('what is set', 'mode, share, limits, key, key-limits or reset', what);
  }
}

function checkLimits(limits: LiveLimits): void {
  const given = entriesOf('limits', limits, LIMITS);
  const { allPlans, factor } = limits;
  if (given.every(([name]) => name === 'allPlans')) {
    throw mustName('limits', 'a limit, a window, a burst or a factor');
  }
  if (allPlans !== undefined && factor !== undefined) {
    throw mustBe('allPlans', 'left out: a factor applies to all plans', allPlans);
  }
  checkFlag('allPlans', allPlans);
  // The limiter's algorithm is not known here. If the algorithm has no burst, the limiter reports a fault and keeps its
  // declared numbers.
  ruleFrom(liveNumbers({ limit: 1, window: '1s' }, limits));
}

function checkReach(limiter: string, { factor }: LiveLimits): void {
  if (limiter !== EVERY_LIMITER || factor !== undefined) return;
  throw mustBe('limits', 'a factor, or set for one limiter', limiter);
}

function checkOnly<What extends string>(
  only: readonly What[],
  known: readonly What[],
): readonly What[] {
  const list = known.join(', ');
  checkList('only', only, list);
  if (only.length === 0) throw mustName('only', `one of ${list}`);
  const unknown = only.find((what) => !known.includes(what));
  if (unknown !== undefined) throw mustBe('only', `a list of ${list}`, unknown);
  return only;
}

function checkKey(key: unknown): void {
  if (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY) return;
  throw mustBe('key', `a string of 1 to ${LONGEST_KEY} characters`, key, 'SPW_KEY_INVALID');
}

function checkWho(limiter: string, note: ChangeNote) {
  entriesOf('the note', note, NOTE);
  const { by, because } = note;
  checkText('by', by, 100);
  checkText('because', because, 500);
  return { limiter: checkName(limiter), note: { by, because } };
}

/** Rejects control characters, because terminals and logs show the text. */
function checkText(option: string, text: unknown, longest: number): void {
  const fits = typeof text === 'string' && text.trim() !== '' && text.length <= longest;
  if (fits && !/\p{Cc}/u.test(text)) return;
  throw mustBe(option, `a line of 1 to ${longest} characters`, text);
}

function durationOf(duration: Duration | 'forever' = '1h'): number | null {
  if (duration === 'forever') return null;
  const us = parseDuration(duration);
  if (us >= SHORTEST_US && us <= LONGEST_US) return us / 1000;
  throw mustBe('for', "from 1s to 30d, or 'forever'", duration);
}

function entriesOf<Name extends string>(
  option: string,
  object: unknown,
  known: readonly Name[],
): [Name, unknown][] {
  if (!isPlainObject(object)) throw mustBe(option, 'an object', object);
  const given = Object.entries(object).filter(([, value]) => value !== undefined);
  for (const [name] of given) oneOf(`a name in ${option}`, name as Name, known);
  return given as [Name, unknown][];
}

function mustName(option: string, what: string): SpillwayError {
  return new SpillwayError('SPW_OPTION_INVALID', `${option} must name ${what}`);
}
