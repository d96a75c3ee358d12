/** Jobs of a key that ask for a slot, and wait only if there is one. */

import type { Job } from './job.js';
import type { Line } from './line.js';
import type { Heard, Slot, Slots } from './slots.js';

/** The key queue that they wait in. */
interface ApplicantsHost {
  readonly key: string;
  readonly slots: Slots;
  readonly line: Line;
  accept(job: Job): void;
  note(heard: Heard): void;
  place(heard: Heard, last: Slot | undefined): Heard;
  giveBackSpare(): void;
  turn(): void;
}

export class Applicants {
  /** Those that are not accepted yet. */
  private readonly jobs = new Set<Job>();
  /** How many of them, aborted ones too, the store has not answered. */
  private asked = 0;
  private readonly host: ApplicantsHost;

  constructor(host: ApplicantsHost) {
    this.host = host;
  }

  get length(): number {
    return this.jobs.size;
  }

  get isBusy(): boolean {
    return this.asked > 0;
  }

  /** `refuse` is told what the store has answered if there is no slot. */
  add(job: Job, refuse: (heard: Heard) => void): void {
    const { key, slots, line } = this.host;
    const { last } = line;
    this.jobs.add(job);
    this.asked += 1;
    void slots.take(key, job.cost, (heard) => this.answer(job, heard, last, refuse));
  }

  drop(job: Job): void {
    this.jobs.delete(job);
  }

  dropAll(): void {
    this.jobs.clear();
  }

  private answer(
    job: Job,
    told: Heard,
    last: Slot | undefined,
    refuse: (heard: Heard) => void,
  ): void {
    const { host } = this;
    this.jobs.delete(job);
    this.asked -= 1;
    host.note(told);
    const heard = host.place(told, last);
    if (heard.slot) host.line.addSlot(heard.slot);
    if (!job.isWaiting) host.giveBackSpare();
    else if (heard.slot || host.line.hasRoomFor(job.cost)) host.accept(job);
    else refuse(heard);
    host.turn();
  }
}
