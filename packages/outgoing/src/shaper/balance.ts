/** Whether there are slots for all jobs of a key, where a slot serves a job of the same or a smaller cost. */

/** Slots less jobs of one cost. */
interface Spare {
  readonly cost: number;
  count: number;
}

export class Balance {
  /** The highest cost first; never a count of 0. */
  private readonly spares: Spare[] = [];

  addSlot(cost: number): void {
    this.change(cost, 1);
  }

  removeSlot(cost: number): void {
    this.change(cost, -1);
  }

  addJob(cost: number): void {
    this.change(cost, -1);
  }

  removeJob(cost: number): void {
    this.change(cost, 1);
  }

  /** A cost of which a slot is missing while there is a spare one of a higher cost; undefined if there is none. */
  covered(): number | undefined {
    let spare = 0;
    for (const { cost, count } of this.spares) {
      if (spare > 0 && count < 0) return cost;
      spare = Math.max(0, spare + count);
    }
    return undefined;
  }

  /** Slots of this very cost less jobs of it. */
  countOf(cost: number): number {
    const spare = this.spares[this.placeOf(cost)];
    return spare?.cost === cost ? spare.count : 0;
  }

  /** The costs of slots that are missing, the highest first, but not more than `most` of them. */
  missing(most: number): readonly number[] {
    const costs: number[] = [];
    let spare = 0;
    for (const { cost, count } of this.spares) {
      spare += count;
      for (; spare < 0; spare += 1) {
        if (costs.length === most) return costs;
        costs.push(cost);
      }
    }
    return costs;
  }

  /** Whether the jobs can do without a slot of this cost: another job of that cost could have it. */
  isSpare(cost: number): boolean {
    let spare = 0;
    let isTaken = false;
    for (const one of this.spares) {
      // Of a cost that is not in the list, it is taken before the next lower one.
      if (!isTaken && one.cost <= cost) {
        if (one.cost < cost && spare < 1) return false;
        spare -= 1;
        isTaken = true;
      }
      spare += one.count;
      if (spare < 0) return false;
    }
    return isTaken || spare > 0;
  }

  private change(cost: number, by: number): void {
    const { spares } = this;
    const at = this.placeOf(cost);
    const spare = spares[at];
    if (spare?.cost !== cost) spares.splice(at, 0, { cost, count: by });
    else if (spare.count + by === 0) spares.splice(at, 1);
    else spare.count += by;
  }

  /** Where a cost stands, or would. */
  private placeOf(cost: number): number {
    let from = 0;
    let to = this.spares.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.spares[middle] as Spare).cost > cost) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
