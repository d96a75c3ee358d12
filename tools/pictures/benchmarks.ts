/** Charts of the tables in docs/benchmark-tables.md, which are the only place where the numbers stand. */

import { bar, svg, text } from './svg.js';

export interface Chart {
  readonly title: string;
  /** How the table begins: its first cell. */
  readonly table: string;
  /** The heading of the column. */
  readonly column: string;
  readonly alternative: string;
}

export const CHARTS = {
  'cost-in-memory': {
    title: 'In memory, 10 000 keys: CPU of a decision, in nanoseconds',
    table: 'CPU time of a decision',
    column: '10 000 keys: ns',
    alternative: 'CPU time of a decision in memory with 10,000 keys, by limiter',
  },
  'cost-in-redis': {
    title: 'In Redis, 100 decisions in flight: CPU of the server for each, in microseconds',
    table: '100 in flight',
    column: 'server CPU µs',
    alternative: 'CPU time that Redis takes for a decision with 100 in flight, by limiter',
  },
  'cost-in-express': {
    title: 'Express 5, requests that pass: CPU for each, in microseconds',
    table: 'Express 5: requests that pass',
    column: 'CPU µs/request',
    alternative: 'CPU time of a request that passes on Express 5, by limiter',
  },
} satisfies Record<string, Chart>;

interface Row {
  readonly name: string;
  readonly value: number;
}

export function chart(page: string, chart: Chart): string {
  const rows = rowsOf(page, chart);
  const most = Math.max(...rows.map(({ value }) => value));
  const [left, width] = [345, 340];
  const shapes = [text(16, 26, chart.title, 'title')];
  for (const [at, { name, value }] of rows.entries()) {
    const y = 46 + at * 26;
    const length = (value / most) * width;
    shapes.push(text(left - 10, y + 13, name, 'end'));
    shapes.push(bar([left, y], length, 18, name.startsWith('Spillway') ? 'a' : 'other'));
    shapes.push(text(left + length + 8, y + 13, String(value), 'quiet'));
  }
  return svg(780, 46 + rows.length * 26 + 12, chart.alternative, shapes);
}

/** The numbers of one column, without those of the loop that measures. */
export function rowsOf(page: string, { table, column }: Chart): Row[] {
  const lines = page.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${table} |`));
  if (start < 0) throw new Error(`docs/benchmark-tables.md has no table "${table}"`);
  const at = cellsOf(lines[start] ?? '').indexOf(column);
  if (at < 0) throw new Error(`the table "${table}" has no column "${column}"`);
  const body = lines.slice(start + 2);
  return body
    .slice(
      0,
      body.findIndex((line) => !line.startsWith('|')),
    )
    .map(cellsOf)
    .filter(([name]) => !name?.includes('empty loop'))
    .map((cells) => {
      const value = Number.parseFloat((cells[at] ?? '').replaceAll(/[*\s]|±.*/g, ''));
      if (Number.isNaN(value)) throw new Error(`no number in "${cells.join(' | ')}"`);
      return { name: (cells[0] ?? '').replaceAll(/[_`]/g, ''), value };
    });
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
