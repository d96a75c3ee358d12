/**
 * Draws the dashboard of ops/grafana from the answers of a Prometheus to its queries. `tests/metrics/board/measure.js`
 * has sent these, and written the answers to board.json.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bar, line, type Point, path, svg, text } from './svg.js';

/** A series with a number for each step; null where there was none. */
export interface Series {
  readonly name: string;
  readonly points: readonly (number | null)[];
}

interface Answers {
  readonly title: string;
  /** The queries that were sent. */
  readonly queries: readonly string[];
  readonly series: readonly Series[];
}

export interface Measured {
  readonly versions: { readonly prometheus: string; readonly redis: string; readonly node: string };
  readonly seconds: number;
  readonly stepSeconds: number;
  readonly panels: readonly Answers[];
  readonly marks: readonly Answers[];
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly collapsed?: boolean;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly fieldConfig?: {
    readonly defaults: { readonly unit: string; readonly custom: { stacking: { mode: string } } };
    readonly overrides: readonly {
      readonly matcher: { readonly options: string };
      readonly properties: readonly { readonly value: { readonly fixedColor: string } }[];
    }[];
  };
}

const ROOT = join(import.meta.dirname, '..', '..');
const [COLUMN, ROW, GAP, TOP, WIDTH] = [45, 26, 8, 40, 1096];
const PALETTE = '#3a9d5d #d9a400 #3b82d6 #e0752d #d64550 #8a63c9 #17999f #b5588f #7d8b2f #6b7785';
const COLORS: readonly string[] = PALETTE.split(' ');
/** The place in the palette of each color that the board names. */
const NAMED: Readonly<Record<string, number>> = {
  green: 0,
  red: 4,
  orange: 3,
  text: 9,
  purple: 5,
  blue: 2,
  yellow: 1,
};
/** The text size of the other pictures would be too large for this width. */
const STYLE = `<style>.p text { font-size: 11px } .p .legend { font-size: 10px } .frame { fill: none; stroke: #8c959f; stroke-opacity: .4 }
    .grid { stroke: #8c959f; stroke-opacity: .25 } .mark { stroke: #d64550; stroke-dasharray: 2 3 }
    polyline { fill: none; stroke-width: 1.5 } polygon { fill-opacity: .35; stroke-width: 1 }
    ${COLORS.map((color, at) => `.s${at} { stroke: ${color} } polygon.s${at}, .k${at} { fill: ${color} }`).join(' ')}</style>`;

export function readMeasured(): Measured {
  const file = readFileSync(join(import.meta.dirname, 'board.json'), 'utf8');
  return JSON.parse(file, (key, value) =>
    key === 'points' ? numbersIn(value) : value,
  ) as Measured;
}

function numbersIn(points: string): (number | null)[] {
  return points.split(' ').map((text) => (text === '-' ? null : Number(text)));
}

export function board(): string {
  const dashboard = JSON.parse(
    readFileSync(join(ROOT, 'ops', 'grafana', 'spillway.json'), 'utf8'),
  ) as { panels: Panel[] };
  const panels = dashboard.panels.filter(({ collapsed }) => !collapsed);
  const measured = readMeasured();
  const shapes = [STYLE, text(GAP, 24, 'Spillway', 'title'), '<g class="p">'];
  for (const panel of panels) shapes.push(...draw(panel, measured));
  shapes.push('</g>');
  const bottom = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const alternative = `The dashboard, drawn from the answers of Prometheus ${measured.versions.prometheus} to its queries`;
  return svg(WIDTH, TOP + bottom * ROW + GAP, alternative, shapes);
}

function draw(panel: Panel, measured: Measured): string[] {
  const { x, y, w, h } = panel.gridPos;
  const [left, top, width, height] = [GAP + x * COLUMN, TOP + y * ROW, w * COLUMN - GAP, h * ROW];
  if (panel.type === 'row') return [text(left, top + 18, panel.title, 'title')];
  const series = measured.panels.find(({ title }) => title === panel.title)?.series ?? [];
  const { unit = '', custom } = panel.fieldConfig?.defaults ?? {};
  const stacked = custom?.stacking.mode === 'normal';
  const legend = legendRows(series, width - 16);
  const plot = {
    left: left + 52,
    top: top + 28,
    width: width - 78,
    height: height - 58 - legend.length * 14,
  };
  const highest = highestOf(series, stacked);
  const most = roundUp(highest);
  const steps = measured.seconds / measured.stepSeconds;
  const at = (step: number, value: number): Point => [
    plot.left + (step / steps) * plot.width,
    plot.top + plot.height - (value / most) * plot.height,
  ];
  const shapes = [
    `<rect class="frame" x="${left}" y="${top}" width="${width}" height="${height - GAP}" rx="3"/>`,
    text(left + 8, top + 17, panel.title, 'title'),
  ];
  for (const part of [0, 0.5, 1]) {
    shapes.push(line(at(0, part * most), at(steps, part * most), 'grid'));
    shapes.push(
      text(plot.left - 5, at(0, part * most)[1] + 4, said(part * most, unit), 'quiet end'),
    );
  }
  for (let minute = 0; minute <= measured.seconds / 60; minute += 2) {
    const [tick] = at((minute * 60) / measured.stepSeconds, 0);
    shapes.push(text(tick, plot.top + plot.height + 14, `${minute} min`, 'quiet middle'));
  }
  for (const step of marksOf(measured)) shapes.push(line(at(step, 0), at(step, most), 'mark'));
  const colors = series.map(({ name }, index) => colorOf(panel, name, index));
  if (stacked) shapes.push(...areas(series, colors, at));
  else shapes.push(...series.flatMap((one, index) => lines(one, colors[index] ?? 0, at)));
  return [...shapes, ...drawLegend(legend, series, colors, [left + 10, top + height - GAP - 8])];
}

type Place = (step: number, value: number) => Point;

function lines({ points }: Series, color: number, at: Place): string[] {
  const runs: Point[][] = [[]];
  for (const [step, value] of points.entries()) {
    if (value === null) runs.push([]);
    else runs.at(-1)?.push(at(step, value));
  }
  return runs.filter(({ length }) => length > 1).map((run) => path(run, `s${color}`));
}

function areas(series: readonly Series[], colors: readonly number[], at: Place): string[] {
  const below: number[] = [];
  return series.map(({ points }, index) => {
    const lower = points.map((_, step) => at(step, below[step] ?? 0));
    const upper = points.map((value, step) => {
      below[step] = (below[step] ?? 0) + (value ?? 0);
      return at(step, below[step]);
    });
    const outline = path([...upper, ...lower.reverse()], `s${colors[index] ?? 0}`);
    return outline.replace('<polyline', '<polygon');
  });
}

/** The steps at which annotations of the board begin, each step once. */
export function marksOf({ marks }: Measured): number[] {
  const begins = marks.flatMap(({ series }) =>
    series.flatMap(({ points }) =>
      points.flatMap((value, step) =>
        value !== null && (points[step - 1] ?? null) === null ? [step] : [],
      ),
    ),
  );
  return [...new Set(begins)];
}

function highestOf(series: readonly Series[], stacked: boolean): number {
  const tops = series.map(({ points }) => points.map((value) => value ?? 0));
  if (!stacked) return Math.max(0, ...tops.flat());
  const steps = tops[0]?.map((_, step) => tops.reduce((sum, one) => sum + (one[step] ?? 0), 0));
  return Math.max(0, ...(steps ?? []));
}

function roundUp(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return (
    ([1, 1.2, 1.6, 2, 2.5, 3, 4, 5, 6, 8, 10].find((times) => times * unit >= value) ?? 10) * unit
  );
}

function said(value: number, unit: string): string {
  const short = Number(value.toPrecision(3));
  if (unit === 'percentunit') return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === 's') return `${Number((value * 1_000).toPrecision(3))} ms`;
  return unit === 'reqps' || unit === 'ops' ? `${short}/s` : String(short);
}

function colorOf({ fieldConfig }: Panel, name: string, index: number): number {
  const own = fieldConfig?.overrides.find(({ matcher }) => matcher.options === name);
  return NAMED[own?.properties[0]?.value.fixedColor ?? ''] ?? index % COLORS.length;
}

const wide = (name: string): number => 26 + name.length * 5.4;

/** The places of the series in each row of the legend. */
function legendRows(series: readonly Series[], width: number): number[][] {
  const rows: number[][] = [[]];
  let used = 0;
  for (const [index, { name }] of series.entries()) {
    if (used + wide(name) > width) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1)?.push(index);
    used += wide(name);
  }
  return rows;
}

function drawLegend(
  rows: readonly (readonly number[])[],
  series: readonly Series[],
  colors: readonly number[],
  [left, bottom]: Point,
): string[] {
  return rows.flatMap((row, at) => {
    let x = left;
    const y = bottom - (rows.length - 1 - at) * 14;
    return row.flatMap((index) => {
      const name = series[index]?.name ?? '';
      const shapes = [
        bar([x, y - 7], 9, 7, `k${colors[index] ?? 0}`),
        text(x + 13, y, name, 'legend'),
      ];
      x += wide(name);
      return shapes;
    });
  });
}
