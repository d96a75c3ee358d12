import type { JudgedLimiter, TimelineReport } from './report.js';
import { count, instant } from './words.js';

const WIDTH = 720;
const HEIGHT = 160;
const [HEAD, FOOT] = [20, 20];

export function barsOverTime({ requests, rejected, startMs, widthMs }: TimelineReport): string {
  const most = Math.max(...requests);
  const width = WIDTH / requests.length;
  const bars = requests.map((number, at) => {
    const hit = rejected[at] ?? 0;
    return (
      bar('all', at * width, width, number / most) + bar('rejected', at * width, width, hit / most)
    );
  });
  const minutes = widthMs / 60_000;
  const endMs = startMs + widthMs * requests.length;
  return picture(`Requests over time, at most ${count(most)} per ${count(minutes)} min`, [
    ...bars,
    text(0, 'start', instant(startMs)),
    text(WIDTH / 2, 'middle', `up to ${count(most)} per ${count(minutes)} min`),
    text(WIDTH, 'end', instant(endMs)),
  ]);
}

/** Heights are logarithmic, so that a bar of a few callers stays visible beside a bar of many. */
export function barsOver(use: JudgedLimiter['use']): string {
  const height = (callers: number): number => Math.log2(callers + 1);
  const most = Math.max(...use.map(({ callers }) => height(callers)), 1);
  const width = WIDTH / use.length;
  const bars = use.map(({ percent, callers }, at) => {
    const isAbove = percent === null || percent > 100;
    const [middle, share] = [(at + 0.5) * width, height(callers) / most];
    return (
      bar(isAbove ? 'rejected' : 'all', at * width, width, share) +
      text(middle, 'middle', percent === null ? 'more' : `≤ ${percent} %`) +
      text(middle, 'middle', count(callers), topOf(share) - 4)
    );
  });
  return picture('Callers by their use of the limit', bars);
}

function picture(title: string, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${WIDTH} ${HEAD + HEIGHT + FOOT}" role="img"><title>${title}</title>${parts.join('')}</svg>`;
}

function bar(kind: string, x: number, width: number, share: number): string {
  if (!(share > 0)) return '';
  const [left, wide] = [x.toFixed(1), Math.max(0.5, width - 0.5).toFixed(1)];
  const top = Math.min(topOf(share), HEAD + HEIGHT - 1);
  const high = HEAD + HEIGHT - top;
  return `<rect class="${kind}" x="${left}" y="${top.toFixed(1)}" width="${wide}" height="${high.toFixed(1)}"/>`;
}

function topOf(share: number): number {
  return HEAD + HEIGHT * (1 - share);
}

function text(x: number, anchor: string, shown: string, y = HEAD + HEIGHT + FOOT - 5): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${shown}</text>`;
}
