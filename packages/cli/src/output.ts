import { inspect } from 'node:util';
import { type Change, isSpillwayError, type Override, type Setting } from '@spillway/core';
import { CommanderError } from 'commander';
import { UnknownLimiterError } from './known.js';
import { paint } from './paint.js';
import { plain } from './plain.js';
import { table, timeOf, untilOf } from './table.js';
import { UsageError } from './usage-error.js';

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Escapes control characters, because some strings come from clients. */
export function printJson(value: unknown): void {
  print(jsonOf(value));
}

function jsonOf(value: unknown): string {
  const escaped = (unit: string): string =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (point) =>
    point.split('').map(escaped).join(''),
  );
}

/** The message of an error. Of an error that a policy throws, it may be no string. */
export function messageOf(error: unknown): string {
  const thrown: unknown = error instanceof Error ? error.message : error;
  return typeof thrown === 'string' ? thrown : inspect(thrown);
}

export function printError(error: unknown, json: boolean): void {
  const text = messageOf(error);
  // Commander's messages begin with `error: `, which JSON doesn't need.
  const message = error instanceof CommanderError ? text.replace(/^error: /, '') : text;
  const help = isSpillwayError(error) ? error.help : undefined;
  if (json) {
    const names = error instanceof UnknownLimiterError ? { known: error.known } : {};
    const shown = { code: codeOf(error), message, help, ...names };
    process.stderr.write(`${jsonOf({ error: shown })}\n`);
  } else {
    const mark = paint('red', 'error:', process.stderr);
    process.stderr.write(`${mark} ${plain(message)}\n${help ? `See ${help}\n` : ''}`);
  }
}

function codeOf(error: unknown): string {
  if (isSpillwayError(error)) return error.code;
  return error instanceof UsageError || error instanceof CommanderError ? 'USAGE' : 'FAILED';
}

export function overridesTable(overrides: readonly Override[], nowMs: number): string {
  if (overrides.length === 0) return 'No live settings: every limiter is as declared.';
  const rows = overrides.map((one) => [
    plain(one.limiter),
    settingName(one),
    textOf(one.value),
    `${plain(one.by)}${one.restoredAtMs === undefined ? '' : ' (restored)'}`,
    untilOf(one.untilMs, nowMs),
    plain(one.because),
  ]);
  return table(['LIMITER', 'WHAT', 'VALUE', 'BY', 'UNTIL', 'BECAUSE'], rows);
}

export function changesTable(changes: readonly Change[]): string {
  const rows = changes.map((change) => [
    timeOf(change.atMs),
    plain(change.limiter),
    settingName(change),
    turnOf(change),
    plain(change.by),
    plain(change.because),
  ]);
  return table(['AT', 'LIMITER', 'WHAT', 'CHANGE', 'BY', 'BECAUSE'], rows);
}

export function changeLine(change: Change): string {
  const { atMs, limiter, by, because, untilMs } = change;
  const until = untilMs === null || change.after === 'reset' ? '' : ` until ${timeOf(untilMs)}`;
  const what = `${plain(limiter)}: ${settingName(change)} ${turnOf(change)}${until}`;
  return `${timeOf(atMs)}  ${what}, by ${plain(by)}: ${plain(because)}`;
}

function settingName({
  what,
  key,
}: {
  readonly what: Setting['what'];
  readonly key?: string;
}): string {
  if (key === undefined) return what;
  return what === 'key-limits' ? `limits of key ${plain(key)}` : `${what} ${plain(key)}`;
}

function turnOf({ before, after }: Change): string {
  if (after === 'reset') return 'reset';
  return `${textOf(before)} -> ${textOf(after)}`;
}

export function textOf(value: Setting['value'] | null): string {
  if (value === null) return 'as declared';
  if (typeof value !== 'object') return plain(String(value));
  const parts = Object.entries(value).map(([name, number]) => `${name} ${number}`);
  return plain(parts.join(', '));
}
