import type { Change, ChangeNote, Override, Setting } from '@spillway/core';
import {
  type CheckedChange,
  checkSetting,
  fieldOf,
  MAX_CHANGES,
  MAX_OVERRIDES,
} from '@spillway/core/control';

type WriteAction = 'change' | 'clear' | 'restore' | 'force';

/**
 * The arguments of control-write.lua for a call without changes.
 *
 * @param dataSet the id for a new data set, if Redis has none
 */
export function encodeWrite(note: ChangeNote, action: WriteAction, dataSet: string): string[] {
  return [`${MAX_OVERRIDES}`, `${MAX_CHANGES}`, JSON.stringify(note), dataSet, action];
}

export function encodeChange(change: CheckedChange, dataSet: string): string[] {
  const { limiter, note, set, clear, durationMs } = change;
  const args = encodeWrite(note, 'change', dataSet);
  for (const setting of set) {
    const { value } = setting;
    args.push(fieldOf(limiter, setting), `${durationMs ?? 0}`, JSON.stringify({ value, ...note }));
  }
  for (const target of clear) args.push(fieldOf(limiter, target), '', '');
  return args;
}

/**
 * A stored setting, in format 1. Releases ignore settings in formats that they don't know. So a release that reads a
 * new format must come before one that writes it.
 */
const STORED = /^1 (\d{1,16}) (\d{1,16}) (\{.*\})$/s;

export function decodeOverride(field: string, text: string): Override {
  const target = decodeField(field);
  const [, at, until, json] = STORED.exec(text) ?? [];
  if (json === undefined) throw new Error(`the stored setting ${field} has an unknown format`);
  const { value, by, because, restored } = JSON.parse(json);
  const setting = {
    what: target.what,
    value,
    ...(target.key !== undefined && { key: target.key }),
  };
  checkSetting(setting as Setting);
  return {
    limiter: target.limiter,
    ...(setting as Setting),
    by: String(by),
    because: String(because),
    atMs: Number(at),
    untilMs: until === '0' ? null : Number(until),
    ...(typeof restored === 'number' && { restoredAtMs: restored }),
  };
}

export function decodeEntry(text: string): Change | undefined {
  try {
    const [id, at, field, before, after, who] = JSON.parse(text.replace(/^1 /, ''));
    const { limiter, what, key } = decodeField(field);
    const { by, because } = JSON.parse(who) as ChangeNote;
    const set = after === '' ? undefined : decodeOverride(field, after);
    return {
      id: Number(id),
      atMs: Number(at),
      limiter,
      what,
      ...(key !== undefined && { key }),
      by: String(by),
      because: String(because),
      before: before === '' ? null : settingIn(field, before),
      after: set?.value ?? null,
      untilMs: set?.untilMs ?? null,
    };
  } catch {
    return undefined;
  }
}

function settingIn(field: string, text: string): Setting['value'] | null {
  try {
    return decodeOverride(field, text).value;
  } catch {
    return null;
  }
}

function decodeField(field: string): { limiter: string; what: Setting['what']; key?: string } {
  const [, what, json] = /^(mode|share|limits|key|key-limits|reset) (\[.*\])$/s.exec(field) ?? [];
  if (what === undefined || json === undefined) throw new Error(`${field} is no setting`);
  const [limiter, key] = JSON.parse(json) as [string, string?];
  const target = { limiter, what: what as Setting['what'], ...(key !== undefined && { key }) };
  if (fieldOf(limiter, target) !== field) throw new Error(`${field} is no setting`);
  return target;
}
