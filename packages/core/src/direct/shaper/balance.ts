/** Whether there are slots for all jobs of a key, where a slot serves a job of the same or a smaller cost. */

export class Balance {
  /** By cost: slots less jobs. */
  private readonly spare = new Map<number, number>();

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

  /** The cost of a slot that is missing; 0 if none is. */
  missing(): number {
    let spare = 0;
    for (const [cost, count] of [...this.spare].sort(([a], [b]) => b - a)) {
      spare += count;
      if (spare < 0) return cost;
    }
    return 0;
  }

  /** Whether the jobs can do without a slot of this cost: another job of that cost could have it. */
  isSpare(cost: number): boolean {
    return this.missingAfter(cost, -1) === 0;
  }

  /** Whether the other jobs have slots if one of this cost has started, on a slot that was removed. */
  bearsStartOf(cost: number): boolean {
    return this.missingAfter(cost, 1) === 0;
  }

  private missingAfter(cost: number, by: number): number {
    this.change(cost, by);
    const missing = this.missing();
    this.change(cost, -by);
    return missing;
  }

  private change(cost: number, by: number): void {
    const count = (this.spare.get(cost) ?? 0) + by;
    if (count === 0) this.spare.delete(cost);
    else this.spare.set(cost, count);
  }
}
