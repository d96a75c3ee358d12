import type { DeclaredNumbers } from '@spillway/core/store';
import { durationOf, rateOf } from '../limiters-table.js';
import type { Comparison, JudgedLimiter, Range, ReplayReport, Trial } from './report.js';

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

function range({ low, high }: Range): string {
  return low === high ? count(low) : `${count(low)} to ${count(high)}`;
}

function percent(share: number): string {
  return `${share === 0 ? 0 : Number((share * 100).toPrecision(2))} %`;
}

function shareOf({ low, high }: Range, whole: number): string {
  const [least, most] = [percent(low / (whole || 1)), percent(high / (whole || 1))];
  return least === most ? most : `${least} to ${most}`;
}

export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export function overview(report: ReplayReport): string[] {
  const { requests, unparsed, outOfOrder, fromMs, toMs, wholeSeconds, logs } = report;
  const span = fromMs === null || toMs === null ? '' : `, ${instant(fromMs)} to ${instant(toMs)}`;
  const stamps = wholeSeconds
    ? 'Stamps are whole seconds: where a number depends on when in the second requests came, it is a range.'
    : '';
  return [
    `${count(requests)} requests of ${plural(logs.length, 'log')}${span}.`,
    `${count(unparsed)} lines that are no requests, ${count(outOfOrder)} requests out of order.`,
    ...(stamps ? [stamps] : []),
  ];
}

export function declared(limiter: JudgedLimiter): string {
  return `${rateOf(limiter as unknown as DeclaredNumbers)}, ${limiter.algorithm}`;
}

export function verdict(limiter: JudgedLimiter): string {
  const { requests, rejected, callers, rejectedCallers, shareOfFirst } = limiter;
  const first =
    shareOfFirst > 0 ? ` The first of them sent ${percent(shareOfFirst)} of these.` : '';
  return (
    `It would have rejected ${range(rejected)} of ${count(requests)} requests (${shareOf(rejected, requests)}), ` +
    `of ${range(rejectedCallers)} of ${plural(callers, 'caller')}.${first}`
  );
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function callerTable({ top }: JudgedLimiter): Table {
  return {
    head: ['CALLER', 'REQUESTS', 'REJECTED', 'PEAK PER SECOND', 'PER MINUTE', 'PER HOUR'],
    rows: top.map(({ caller, requests, rejected, peak }) => [
      caller,
      count(requests),
      range(rejected),
      count(peak.second),
      count(peak.minute),
      count(peak.hour),
    ]),
  };
}

export function trialTable({ table, windowMs }: JudgedLimiter): Table {
  const algorithms = [...new Set(table.map(({ algorithm }) => algorithm))];
  const limits = [...new Set(table.map(({ limit }) => limit))];
  const cell = (limit: number, algorithm: string): string => {
    const isIt = (trial: Trial) => trial.limit === limit && trial.algorithm === algorithm;
    const trial = table.find(isIt);
    return trial ? `${range(trial.rejected)} (${range(trial.rejectedCallers)})` : '';
  };
  return {
    head: [`LIMIT PER ${durationOf(windowMs)}`, ...algorithms],
    rows: limits.map((limit) => [
      count(limit),
      ...algorithms.map((algorithm) => cell(limit, algorithm)),
    ]),
  };
}

export function smallestTable({ smallest }: JudgedLimiter): Table {
  const head = ['TO REJECT', 'SMALLEST LIMIT', 'OR BURST (TOKEN BUCKET)'];
  if (!smallest) return { head, rows: [] };
  const { maxRejected, maxCallers, limitByRejected, limitByCallers } = smallest;
  const number = (value: number | null) => (value === null ? 'none' : count(value));
  return {
    head,
    rows: [
      [
        `at most ${percent(maxRejected)} of the requests`,
        number(limitByRejected),
        number(smallest.burstByRejected),
      ],
      [
        `at most ${plural(maxCallers, 'caller')}`,
        number(limitByCallers),
        number(smallest.burstByCallers),
      ],
    ],
  };
}

export function comparedLine({ newlyHit, noLongerHit }: Comparison): string {
  return `${plural(newlyHit, 'caller')} newly hit, ${count(noLongerHit)} no longer.`;
}

export function newlyHitTable({ top }: Comparison): Table {
  return {
    head: ['NEWLY HIT', 'REJECTED'],
    rows: top.map(({ caller, rejected }) => [caller, count(rejected)]),
  };
}

export function statusLine({ statuses }: JudgedLimiter): string {
  const parts = Object.entries(statuses).map(([status, times]) => `${status}: ${count(times)}`);
  return parts.length === 0 ? '' : `Their requests had been answered with ${parts.join(', ')}.`;
}

function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}
