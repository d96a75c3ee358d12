/** Prints: columns for people, JSON for programs. */

import { type Change, isSpillwayError, type Override, type Setting } from '@spillway/core';
import { CommanderError } from 'commander';
import { UnknownLimiterError } from './known.js';
import { plain } from './plain.js';
import { UsageError } from './usage-error.js';

/** The only function that prints to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printError(error: unknown, json: boolean): void {
  const message = error instanceof Error ? error.message : String(error);
  const help = isSpillwayError(error) ? error.help : undefined;
  if (json) {
    const names = error instanceof UnknownLimiterError ? { known: error.known } : {};
    const shown = { code: codeOf(error), message, help, ...names };
    process.stderr.write(`${JSON.stringify({ error: shown })}\n`);
  } else {
    process.stderr.write(`error: ${plain(message)}\n${help ? `See ${help}\n` : ''}`);
  }
}

function codeOf(error: unknown): string {
  if (isSpillwayError(error)) return error.code;
  return error instanceof UsageError || error instanceof CommanderError ? 'USAGE' : 'FAILED';
}

export function overridesTable(overrides: readonly Override[], nowMs: number): string {
  if (overrides.length === 0) return 'Nothing is set: every limiter is as declared.';
  const rows = overrides.map((one) => [
    plain(one.limiter),
    nameOf(one),
    textOf(one.value),
    plain(one.by),
    untilOf(one.untilMs, nowMs),
    plain(one.because),
  ]);
  return table(['LIMITER', 'WHAT', 'VALUE', 'BY', 'UNTIL', 'BECAUSE'], rows);
}

export function changesTable(changes: readonly Change[]): string {
  const rows = changes.map((change) => [
    timeOf(change.atMs),
    plain(change.limiter),
    nameOf(change),
    turnOf(change),
    plain(change.by),
    plain(change.because),
  ]);
  return table(['AT', 'LIMITER', 'WHAT', 'CHANGE', 'BY', 'BECAUSE'], rows);
}

/** One change in one line. */
export function changeLine(change: Change): string {
  const { atMs, limiter, by, because, untilMs } = change;
  const until = untilMs === null || change.after === 'reset' ? '' : ` until ${timeOf(untilMs)}`;
  const what = `${plain(limiter)}: ${nameOf(change)} ${turnOf(change)}${until}`;
  return `${timeOf(atMs)}  ${what}, by ${plain(by)}: ${plain(because)}`;
}

/** When it ends, and how long from now that is. */
export function untilOf(untilMs: number | null, nowMs: number): string {
  if (untilMs === null) return 'forever';
  const seconds = Math.max(0, Math.round((untilMs - nowMs) / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = first < 0 ? ['0s'] : parts.slice(first, first + 2).map((part) => part.join(''));
  return `${timeOf(untilMs)} (${shown.join(' ')})`;
}

function nameOf(of: { readonly what: Setting['what']; readonly key?: string }): string {
  return of.key === undefined ? of.what : `${of.what} ${plain(of.key)}`;
}

function turnOf({ before, after }: Change): string {
  if (after === 'reset') return 'reset';
  return `${before === null ? 'as declared' : textOf(before)} -> ${after === null ? 'as declared' : textOf(after)}`;
}

function textOf(value: Setting['value']): string {
  if (typeof value !== 'object') return plain(String(value));
  const parts = Object.entries(value).map(([name, number]) => `${name} ${number}`);
  return plain(parts.join(', '));
}

/** In the reader's time zone, with its offset. */
function timeOf(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return '?';
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => (row[at] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}
