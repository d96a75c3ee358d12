/**
 * A discrete-event model of one event loop. Events run in the order of their times. Tasks run one at a time, in the
 * order in which they became ready.
 */

import type { Clock } from '@spillway/core';

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A processor that others use too: each period begins with the process's own part, and the rest belongs to the others.
 */
export interface Processor {
  readonly everyMs: number;
  readonly ownMs: number;
  /** Others use it only between these two times. Default: always. */
  readonly fromMs?: number;
  readonly untilMs?: number;
}

/** How many connections can wait until the process accepts them: Node's default. */
const BACKLOG = 511;
const ACCEPT_MS = 0.05;

/** Starts, and returns how long it keeps the loop busy; `after` runs when it is done. */
export type Task = () => { readonly busyMs: number; readonly after?: () => void };

interface Times {
  readonly active: number;
  readonly idle: number;
  readonly cpu: number;
  readonly accepted: number;
}

/** Time is virtual: a run takes as long as its events take to compute. */
export class EventLoop implements Clock {
  nowMs = 0;
  /** How long the loop was busy so far. */
  busyMs = 0;
  /** How long it had the processor. */
  workedMs = 0;
  private order = 0;
  private readonly heap: Event[] = [];
  private ready: Task[] = [];
  private next = 0;
  /** Where the tasks end that were ready when the current turn of the loop began. */
  private turnEnd = 0;
  private readonly connecting: Task[] = [];
  private accepted = 0;
  private running = false;
  private readonly processor: Processor;

  constructor(processor: Processor = { everyMs: 1, ownMs: 1 }) {
    this.processor = processor;
  }

  nowUs(): number {
    return Math.round(this.nowMs * 1000);
  }

  /** What the host of the Node signals counts. */
  times(): Times {
    const { busyMs, workedMs, accepted } = this;
    return { active: busyMs, idle: this.nowMs - busyMs, cpu: workedMs, accepted };
  }

  /** Calls back at a time, without using the loop, as the outside world does. */
  at(atMs: number, run: () => void): void {
    this.push({ atMs, order: this.order++, run });
  }

  /** Queues a task behind those that are ready. */
  enqueue(task: Task): void {
    this.ready.push(task);
    this.turn();
  }

  /**
   * Queues a task that comes on a new connection: the loop accepts one in each of its turns, as libuv does since 1.45.
   * False if the kernel has no place for the connection.
   */
  connect(task: Task): boolean {
    if (this.connecting.length >= BACKLOG) return false;
    this.connecting.push(task);
    this.turn();
    return true;
  }

  /** Queues a task each period, as an interval timer of Node does: the next period begins when the task starts. */
  every(periodMs: number, busyMs: number, run: () => void): void {
    const arm = (): void =>
      this.at(this.nowMs + periodMs, () =>
        this.enqueue(() => {
          run();
          arm();
          return { busyMs };
        }),
      );
    arm();
  }

  /** Runs all events up to a time. */
  runUntil(endMs: number): void {
    for (let event = this.heap[0]; event && event.atMs <= endMs; event = this.heap[0]) {
      this.pop();
      this.nowMs = event.atMs;
      event.run();
    }
    this.nowMs = endMs;
  }

  private turn(): void {
    if (this.running) return;
    if (this.next >= this.turnEnd) this.begin();
    const task = this.ready[this.next];
    if (!task) return;
    this.next += 1;
    if (this.next > 1024 && this.next * 2 > this.ready.length) {
      this.ready = this.ready.slice(this.next);
      this.turnEnd -= this.next;
      this.next = 0;
    }
    this.running = true;
    const startMs = this.afterWork(this.nowMs, 0);
    // A process that slept until now and does not get the processor yet is idle, as Node counts it.
    if (startMs > this.nowMs) this.at(startMs, () => this.run(task));
    else this.run(task);
  }

  /** Begins a turn: the tasks that are ready, and one new connection, whose request is read in the next turn. */
  private begin(): void {
    const first = this.connecting.shift();
    if (first) {
      this.accepted += 1;
      this.ready.push(() => ({ busyMs: ACCEPT_MS, after: () => this.enqueue(first) }));
    }
    this.turnEnd = this.ready.length;
  }

  private run(task: Task): void {
    const { busyMs, after } = task();
    const startMs = this.nowMs;
    this.at(this.afterWork(startMs, busyMs), () => {
      this.busyMs += this.nowMs - startMs;
      this.workedMs += busyMs;
      this.running = false;
      after?.();
      this.turn();
    });
  }

  /** When ready work would be done; without work, when it could begin. */
  private afterWork(readyMs: number, workMs: number): number {
    const { everyMs, ownMs, fromMs = 0, untilMs = Number.POSITIVE_INFINITY } = this.processor;
    const isShared = ownMs < everyMs && readyMs >= fromMs && readyMs < untilMs;
    if (!isShared) return readyMs + workMs;
    let period = Math.floor(readyMs / everyMs);
    let sinceMs = readyMs - period * everyMs;
    if (sinceMs >= ownMs) {
      period += 1;
      sinceMs = 0;
    }
    let leftMs = workMs;
    while (leftMs > ownMs - sinceMs) {
      leftMs -= ownMs - sinceMs;
      period += 1;
      sinceMs = 0;
    }
    return period * everyMs + sinceMs + leftMs;
  }

  private push(event: Event): void {
    const { heap } = this;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(event, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function before(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
