/** Releases that did not reach the store: kept, within a bound, to be sent again while their leases may still last. */

import type { Answer } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';
import type { Room } from '../../contract/upkeep.js';

/** What one takes beside its key. */
const RELEASE_BYTES = 256;

export class LostReleases {
  /** Until when the lease may last, in microseconds; the first to be lost comes first. */
  private readonly untilUs = new Map<Step, number>();
  /** Those that this round has still to send, the next one last. */
  private round: Step[] = [];
  private readonly room: Room;
  private readonly forgotten: (release: Step) => void;

  /** @param forgotten told of each that will not be sent again, though it has not arrived */
  constructor(room: Room, forgotten: (release: Step) => void) {
    this.room = room;
    this.forgotten = forgotten;
  }

  get size(): number {
    return this.untilUs.size;
  }

  /** One for which there is no room is left to the end of its lease. */
  add(release: Step, untilUs: number): void {
    const bytes = bytesOf(release);
    if (this.untilUs.has(release)) return;
    if (bytes > this.room.bytes) {
      this.forgotten(release);
      return;
    }
    this.room.bytes -= bytes;
    this.untilUs.set(release, untilUs);
  }

  delete(release: Step): void {
    if (this.untilUs.delete(release)) this.room.bytes += bytesOf(release);
  }

  /** From now on each is sent once more; those whose leases have ended are forgotten. */
  beginRound(nowUs: number): void {
    for (const [release, untilUs] of this.untilUs) {
      if (untilUs > nowUs) continue;
      this.delete(release);
      this.forgotten(release);
    }
    this.round = [...this.untilUs.keys()].reverse();
  }

  /** The store does not take them now. */
  endRound(): void {
    this.round = [];
  }

  /** The next to be sent in this round. */
  next(count: number): readonly Step[] {
    const next: Step[] = [];
    while (next.length < count) {
      const release = this.round.pop();
      if (!release) break;
      if (this.untilUs.has(release)) next.push(release);
    }
    return next;
  }

  all(): readonly Step[] {
    return [...this.untilUs.keys()];
  }

  /** All of them; none is left. */
  takeAll(): Step[] {
    const all = [...this.untilUs.keys()];
    for (const release of all) this.delete(release);
    return all;
  }
}

/** A character of a key takes two bytes at most. */
function bytesOf({ key }: Step): number {
  return RELEASE_BYTES + 2 * key.length;
}

/** Steps sent in one turn at most: some milliseconds of a store, so that requests hardly wait for them. */
export const MOST_STEPS = 512;

/** After so long without an answer a release is taken for lost. */
export const GIVE_BACK_US = 1_000_000;

/** The step that gives a lease back. */
export function releaseOf(step: Step): Step {
  return { ...step, op: 'put' };
}

export function hasFailed(answer: Answer | undefined): boolean {
  return answer === undefined || answer.failure !== undefined;
}
