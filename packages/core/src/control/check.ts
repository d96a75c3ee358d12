/** Checks a live change before it is made: numbers that a limiter could not be declared with cannot be set either. */

import { checkName } from '../base/checks.js';
import { type Duration, parseDuration } from '../base/duration.js';
import { SpillwayError, show } from '../base/errors.js';
import type { LimiterSettings, LiveLimits } from '../contract/control.js';
import type { Mode } from '../contract/mode.js';
import { ruleFrom } from '../limits/rule-options.js';
import {
  type ChangeNote,
  type CheckedChange,
  type ClearableSetting,
  EVERY_LIMITER,
  type OverrideNote,
  type Setting,
} from './override.js';

const MODES: readonly Mode[] = ['enforce', 'shadow', 'off'];
const CLEARABLE: readonly ClearableSetting[] = ['mode', 'share', 'limits'];
const SHORTEST_US = 1_000_000;
const LONGEST_US = 30 * 86_400_000_000;
const LONGEST_KEY = 1_024;
/** How long a reset stays in the control: longer than any process takes to read it. */
const RESET_MS = 60_000;

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_OPTION_INVALID`, and what `rateLimit` throws for limits */
export function checkSet(
  limiter: string,
  settings: LimiterSettings,
  note: OverrideNote,
): CheckedChange {
  const set: Setting[] = [];
  for (const [what, value] of entriesOf('settings', settings, CLEARABLE)) {
    const setting = { what, value } as Setting;
    checkSetting(setting);
    if (what === 'limits' && limiter === EVERY_LIMITER) {
      throw invalid(`limits must be set for one limiter, not for '${EVERY_LIMITER}'`);
    }
    set.push(setting);
  }
  if (set.length === 0) throw invalid('settings must name a mode, a share or limits');
  return { ...checkWho(limiter, note), set, clear: [], durationMs: durationOf(note.for) };
}

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_OPTION_INVALID` */
export function checkClear(
  limiter: string,
  note: ChangeNote,
  only: readonly ClearableSetting[] = CLEARABLE,
): CheckedChange {
  for (const what of only) {
    if (!CLEARABLE.includes(what)) {
      throw invalid(`only must be a list of ${CLEARABLE.join(', ')}, got ${show(what)}`);
    }
  }
  const clear = only.map((what) => ({ what }));
  return { ...checkWho(limiter, note), set: [], clear, durationMs: null };
}

/** @throws SpillwayError `SPW_NAME_INVALID`, `SPW_KEY_INVALID`, `SPW_OPTION_INVALID` */
export function checkKeyRuling(
  limiter: string,
  key: string,
  value: 'allow' | 'block' | 'reset' | null,
  note: OverrideNote,
): CheckedChange {
  checkRuledKey(key);
  const who = checkWho(limiter, note);
  if (value === null) return { ...who, set: [], clear: [{ what: 'key', key }], durationMs: null };
  if (value === 'reset') {
    return { ...who, set: [{ what: 'reset', key, value }], clear: [], durationMs: RESET_MS };
  }
  return {
    ...who,
    set: [{ what: 'key', key, value }],
    clear: [],
    durationMs: durationOf(note.for),
  };
}

/**
 * Checks a setting, also one that was read from Redis, where anybody may have written it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_KEY_INVALID`, and what `rateLimit` throws for limits
 */
export function checkSetting(setting: Setting): void {
  const { what, value } = setting;
  switch (what) {
    case 'mode':
      if (MODES.includes(value)) return;
      throw invalid(`mode must be one of ${MODES.join(', ')}, got ${show(value)}`);
    case 'share':
      if (typeof value === 'number' && value >= 0 && value <= 1) return;
      throw invalid(`share must be from 0 to 1, got ${show(value)}`);
    case 'limits':
      checkLimits(value);
      return;
    case 'key':
      checkRuledKey(setting.key);
      if (value === 'allow' || value === 'block') return;
      throw invalid(`a key can be set to allow or block, got ${show(value)}`);
    case 'reset':
      checkRuledKey(setting.key);
      return;
    default:
      throw invalid(`what is set must be mode, share, limits or key, got ${show(what)}`);
  }
}

function checkLimits(limits: LiveLimits): void {
  const given = entriesOf('limits', limits, ['limit', 'window', 'burst']);
  if (given.length === 0) throw invalid('limits must name a limit, a window or a burst');
  // The limiter's algorithm is not known here. If it has no burst, the limiter itself reports that and keeps its
  // declared numbers.
  ruleFrom({ limit: 1, window: '1s', ...Object.fromEntries(given) });
}

function checkRuledKey(key: unknown): void {
  if (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY) return;
  throw new SpillwayError(
    'SPW_KEY_INVALID',
    `key must be a string of 1 to ${LONGEST_KEY} characters, got ${show(key)}`,
  );
}

function checkWho(limiter: string, note: ChangeNote) {
  const { by, because } = note ?? {};
  checkText('by', by, 100);
  checkText('because', because, 500);
  return { limiter: checkName(limiter), note: { by, because } };
}

/** The text must be one line, because terminals and logs show it. */
function checkText(option: string, text: unknown, longest: number): void {
  const fits = typeof text === 'string' && text.trim() !== '' && text.length <= longest;
  if (fits && !/\p{Cc}/u.test(text)) return;
  throw invalid(`${option} must be a line of 1 to ${longest} characters, got ${show(text)}`);
}

function durationOf(duration: Duration | 'forever' = '1h'): number | null {
  if (duration === 'forever') return null;
  const us = parseDuration(duration);
  if (us >= SHORTEST_US && us <= LONGEST_US) return us / 1000;
  throw invalid(`for must be from 1s to 30d, or 'forever', got ${show(duration)}`);
}

/** The entries of an object that has no unknown names. */
function entriesOf<Name extends string>(
  option: string,
  object: unknown,
  known: readonly Name[],
): [Name, unknown][] {
  if (typeof object !== 'object' || object === null || Array.isArray(object)) {
    throw invalid(`${option} must be an object, got ${show(object)}`);
  }
  const given = Object.entries(object).filter(([, value]) => value !== undefined);
  for (const [name] of given) {
    if (!(known as readonly string[]).includes(name)) {
      throw invalid(`${option} can have ${known.join(', ')}, got ${show(name)}`);
    }
  }
  return given as [Name, unknown][];
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('SPW_OPTION_INVALID', message);
}
