/** Charts of the tables in docs/benchmark-tables.md, which are the only source of the numbers. */

import { bar, svg, text } from './svg.js';

export interface Chart {
  readonly title: string;
  /** The first cell of the table, which identifies it. */
  readonly table: string;
  /** The heading of the column. */
  readonly column: string;
  readonly alternative: string;
}

export const CHARTS = {
  'cost-in-memory': {
    title: 'In memory, 10,000 keys: CPU per decision, ns',
    table: 'CPU time of a decision',
    column: '10 000 keys: ns',
    alternative: 'CPU time of a decision in memory with 10,000 keys, by limiter',
  },
  'cost-in-redis': {
    title: 'Redis, 100 in flight: server CPU per decision, µs',
    table: '100 in flight',
    column: 'server CPU µs',
    alternative: 'CPU time that Redis takes for a decision with 100 in flight, by limiter',
  },
  'cost-in-express': {
    title: 'Express 5: CPU per request that passes, µs',
    table: 'Express 5: requests that pass',
    column: 'CPU µs/request',
    alternative: 'CPU time of a request that passes on Express 5, by limiter',
  },
} satisfies Record<string, Chart>;

interface Row {
  readonly name: string;
  readonly value: number;
}

/** Each label is above its bar, so that the chart fits the width of a phone and no label is cut. */
export function chart(page: string, chart: Chart): string {
  const rows = rowsOf(page, chart);
  const most = Math.max(...rows.map(({ value }) => value));
  const [left, width, lineHeight] = [16, 350, 17];
  const shapes = [text(left, 26, chart.title, 'title')];
  let y = 36;
  for (const { name, value } of rows) {
    for (const words of linesOf(name)) {
      y += lineHeight;
      shapes.push(text(left, y, words));
    }
    const length = (value / most) * width;
    shapes.push(bar([left, y + 6], length, 14, name.startsWith('Spillway') ? 'a' : 'other'));
    shapes.push(text(left + length + 8, y + 17, String(value), 'quiet'));
    y += 24;
  }
  return svg(440, y + 14, chart.alternative, shapes);
}

/** The lines of a label, broken between words if it is wider than the chart. */
function linesOf(label: string): string[] {
  const lines: string[] = [];
  for (const word of label.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 56) lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  return lines;
}

/**
 * The numbers of one column, without those of the empty loop. "the same" becomes the name of the last row above that
 * has a name.
 */
export function rowsOf(page: string, { table, column }: Chart): Row[] {
  const lines = page.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${table} |`));
  if (start < 0) throw new Error(`docs/benchmark-tables.md has no table "${table}"`);
  const at = cellsOf(lines[start] ?? '').indexOf(column);
  if (at < 0) throw new Error(`the table "${table}" has no column "${column}"`);
  const body = lines.slice(start + 2);
  const end = body.findIndex((line) => !line.startsWith('|'));
  const rows: Row[] = [];
  let subject = '';
  for (const cells of body.slice(0, end).map(cellsOf)) {
    const label = (cells[0] ?? '').replaceAll(/[_`]/g, '');
    if (label === 'an empty loop') continue;
    if (!label.startsWith('the same')) subject = label.replace(/,[^,]* read$/, '');
    const value = Number.parseFloat((cells[at] ?? '').replaceAll(/[*\s]|±.*/g, ''));
    if (Number.isNaN(value)) throw new Error(`no number in "${cells.join(' | ')}"`);
    rows.push({ name: label.replace(/^the same/, subject), value });
  }
  return rows;
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
