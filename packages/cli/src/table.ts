import { paint, paintValue } from './paint.js';

const COLOURED = ['VALUE', 'MODE'];

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // Not as arguments of one Math.max, because a call with 200,000 of them overflows the stack.
  const widths = head.map((name, at) =>
    rows.reduce((width, row) => Math.max(width, row[at]?.length ?? 0), name.length),
  );
  const line = (cells: readonly string[]): string[] =>
    cells.map((cell, at) => (at < head.length - 1 ? cell.padEnd(widths[at] ?? 0) : cell));
  const painted = (cells: readonly string[]): string[] =>
    cells.map((cell, at) => (COLOURED.includes(head[at] ?? '') ? paintValue(cell) : cell));
  const lines = rows.map((row) => painted(line(row)).join('  ').trimEnd());
  return [paint('bold', line(head).join('  ')), ...lines].join('\n');
}

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

export function timeOf(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return '?';
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const east = -date.getTimezoneOffset();
  const minutes = Math.abs(east);
  const zone = `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${day} ${time} ${east < 0 ? '-' : '+'}${zone}`;
}
