/** Jobs of one cost that wait, in a binary heap: the one that goes first is found at once, however many there are. */

import type { Job } from './job.js';

export class RankedJobs {
  /** No job goes before its parent, which is at (index - 1) / 2. */
  private readonly heap: Job[] = [];
  private readonly places = new Map<Job, number>();

  get size(): number {
    return this.heap.length;
  }

  get first(): Job | undefined {
    return this.heap[0];
  }

  add(job: Job): void {
    this.rise(job, this.heap.length);
  }

  /** False if it is not here. */
  remove(job: Job): boolean {
    const { heap, places } = this;
    const at = places.get(job);
    if (at === undefined) return false;
    places.delete(job);
    const last = heap.pop() as Job;
    if (last === job) return true;
    // What comes from another branch of the heap may go before what is above its new place.
    if (at > 0 && goesBefore(last, heap[(at - 1) >> 1] as Job)) this.rise(last, at);
    else this.sink(last, at);
    return true;
  }

  private rise(job: Job, from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.heap[above] as Job;
      if (!goesBefore(job, parent)) break;
      this.put(parent, at);
      at = above;
    }
    this.put(job, at);
  }

  private sink(job: Job, from: number): void {
    const { heap } = this;
    let at = from;
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      const right = heap[below + 1];
      if (right && goesBefore(right, heap[below] as Job)) below += 1;
      const child = heap[below] as Job;
      if (!goesBefore(child, job)) break;
      this.put(child, at);
      at = below;
    }
    this.put(job, at);
  }

  private put(job: Job, at: number): void {
    this.heap[at] = job;
    this.places.set(job, at);
  }
}

/** By priority, then first come. */
export function goesBefore(job: Job, other: Job): boolean {
  return (
    job.priority > other.priority || (job.priority === other.priority && job.order < other.order)
  );
}
