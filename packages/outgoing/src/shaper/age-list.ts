/** The jobs of a line in the order in which they came: any of them is taken out at once, however many there are. */

import type { Job } from './job.js';

interface Node {
  readonly job: Job;
  previous: Node | undefined;
  next: Node | undefined;
}

export class AgeList {
  private head: Node | undefined;
  private tail: Node | undefined;
  private readonly nodes = new Map<Job, Node>();

  get first(): Job | undefined {
    return this.head?.job;
  }

  *[Symbol.iterator](): Generator<Job, void> {
    for (let node = this.head; node; node = node.next) yield node.job;
  }

  add(job: Job): void {
    const node: Node = { job, previous: this.tail, next: undefined };
    if (this.tail) this.tail.next = node;
    else this.head = node;
    this.tail = node;
    this.nodes.set(job, node);
  }

  remove(job: Job): void {
    const node = this.nodes.get(job);
    if (!node) return;
    const { previous, next } = node;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    this.nodes.delete(job);
  }
}
