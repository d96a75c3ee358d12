/** The top callers of one limiter over the last minute, the last 15 minutes, and since the last summary. */

import { type CallerList, mergeLists, NO_CALLERS } from './caller-list.js';
import { CallerTable } from './caller-table.js';

export const SLICE_US = 10_000_000;

const SLICES_PER_MINUTE = 6;
const MINUTES = 15;

export interface CallerTops {
  /** The top callers of the last 50 to 60 seconds. */
  readonly minute: CallerList;
  /** The top callers of the last 14 to 15 minutes. */
  readonly quarter: CallerList;
}

interface Aged {
  readonly number: number;
  readonly list: CallerList;
}

export class CallerWindows {
  current: CallerTable;
  private readonly random: () => number;
  private slices: Aged[] = [];
  private minutes: Aged[] = [];
  private unsummarized = NO_CALLERS;

  constructor(random: () => number) {
    this.random = random;
    this.current = new CallerTable(random);
  }

  turn(ended: number, current: number): boolean {
    const { isEmpty } = this;
    if (this.current.total > 0) {
      const list = mergeLists(this.current.lists());
      this.slices.push({ number: ended, list });
      this.unsummarized = mergeLists([this.unsummarized, list]);
      this.current = new CallerTable(this.random);
    }
    const isRecent = ({ number }: Aged): boolean => number > current - SLICES_PER_MINUTE;
    for (const slice of this.slices) if (!isRecent(slice)) this.age(slice);
    this.slices = this.slices.filter(isRecent);
    const oldest = minuteOf(current) - MINUTES;
    this.minutes = this.minutes.filter(({ number }) => number > oldest);
    return !isEmpty;
  }

  private get isEmpty(): boolean {
    return this.current.total + this.slices.length + this.minutes.length === 0;
  }

  tops(): CallerTops {
    const lists = [...this.current.lists(), ...this.slices.map(({ list }) => list)];
    const minute = mergeLists(lists);
    return { minute, quarter: mergeLists([...this.minutes.map(({ list }) => list), ...lists]) };
  }

  takeSummary(): CallerList {
    const list = this.unsummarized;
    this.unsummarized = NO_CALLERS;
    return list;
  }

  private age({ number, list }: Aged): void {
    const minute = minuteOf(number);
    const same = this.minutes.at(-1)?.number === minute ? this.minutes.pop() : undefined;
    this.minutes.push({ number: minute, list: same ? mergeLists([same.list, list]) : list });
  }
}

function minuteOf(slice: number): number {
  return Math.floor(slice / SLICES_PER_MINUTE);
}
