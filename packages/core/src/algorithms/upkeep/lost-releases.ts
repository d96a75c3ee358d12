/**
 * Releases that did not reach the store. They are stored, within a memory limit, and retried until their leases have
 * expired.
 */

import type { Answer } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';
import type { Room } from '../../contract/upkeep.js';

/** The memory that a release takes in addition to its key. */
const RELEASE_BYTES = 256;

export class LostReleases {
  /** The lost releases, oldest first, with the latest instant at which their leases expire. */
  private readonly untilUs = new Map<Step, number>();
  /** The releases still to be sent in this round. The next one is at the end. */
  private round: Step[] = [];
  private readonly underWay = new Set<Step>();
  private readonly room: Room;
  private readonly onGivenUp: (release: Step) => void;

  constructor(room: Room, onGivenUp: (release: Step) => void) {
    this.room = room;
    this.onGivenUp = onGivenUp;
  }

  get size(): number {
    return this.untilUs.size;
  }

  /** Adds a release. If there is no room, the release is given up, and the lease ends when it expires. */
  addRelease(release: Step, untilUs: number): void {
    const bytes = bytesOf(release);
    this.underWay.delete(release);
    if (this.untilUs.has(release)) return;
    if (bytes > this.room.bytes) {
      this.onGivenUp(release);
      return;
    }
    this.room.bytes -= bytes;
    this.untilUs.set(release, untilUs);
  }

  delete(release: Step): void {
    this.underWay.delete(release);
    if (this.untilUs.delete(release)) this.room.bytes += bytesOf(release);
  }

  /**
   * Starts a round, in which each release that is not in flight is sent once. Releases whose leases have expired are
   * given up.
   */
  beginRound(nowUs: number): void {
    for (const [release, untilUs] of this.untilUs) {
      if (untilUs > nowUs) continue;
      this.delete(release);
      this.onGivenUp(release);
    }
    this.round = this.all().filter((release) => !this.underWay.has(release));
    this.round.reverse();
  }

  endRound(): void {
    this.round = [];
  }

  next(count: number): readonly Step[] {
    const next: Step[] = [];
    while (next.length < count) {
      const release = this.round.pop();
      if (!release) break;
      if (!this.untilUs.has(release)) continue;
      this.underWay.add(release);
      next.push(release);
    }
    return next;
  }

  all(): Step[] {
    return [...this.untilUs.keys()];
  }

  takeAll(): Step[] {
    const all = this.all();
    for (const release of all) this.delete(release);
    return all;
  }
}

/** A character of a key takes two bytes at most. */
function bytesOf({ key }: Step): number {
  return RELEASE_BYTES + 2 * key.length;
}

/** The most steps sent in one turn. They take the store a few milliseconds, so requests hardly wait. */
export const MOST_STEPS = 512;

/** The timeout after which a release is considered lost. */
export const GIVE_BACK_US = 1_000_000;

export function releaseOf(step: Step): Step {
  return { ...step, op: 'put' };
}

export function hasFailed(answer: Answer | undefined): boolean {
  return answer === undefined || answer.failure !== undefined;
}
