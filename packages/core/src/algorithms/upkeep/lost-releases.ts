/**
 * Steps that release a permit or end a claim, and did not reach the store. They are stored, within a memory limit, and
 * retried until the time given for each.
 */

import type { AnswerBase } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';
import type { Room } from '../../contract/upkeep.js';

const BYTES_BESIDE_TEXTS = 256;

export class LostReleases {
  private readonly expiryUs = new Map<Step, number>();
  private unsent: Step[] = [];
  private readonly underWay = new Set<Step>();
  private readonly room: Room;
  private readonly onGivenUp: (release: Step) => void;

  constructor(room: Room, onGivenUp: (release: Step) => void) {
    this.room = room;
    this.onGivenUp = onGivenUp;
  }

  get size(): number {
    return this.expiryUs.size;
  }

  /** Retries a release until `untilUs`. Without room, it is given up, and its lease expires. */
  addRelease(release: Step, untilUs: number): void {
    const bytes = bytesOf(release);
    this.underWay.delete(release);
    if (this.expiryUs.has(release)) return;
    if (bytes > this.room.bytes) {
      this.onGivenUp(release);
      return;
    }
    this.room.bytes -= bytes;
    this.expiryUs.set(release, untilUs);
  }

  delete(release: Step): void {
    this.underWay.delete(release);
    if (this.expiryUs.delete(release)) this.room.bytes += bytesOf(release);
  }

  /** Starts a round: each release not in flight is sent once; releases whose time has passed are given up. */
  beginRound(nowUs: number): void {
    for (const [release, untilUs] of this.expiryUs) {
      if (untilUs > nowUs) continue;
      this.delete(release);
      this.onGivenUp(release);
    }
    this.unsent = this.all().filter((release) => !this.underWay.has(release));
    this.unsent.reverse();
  }

  endRound(): void {
    this.unsent = [];
  }

  next(count: number): readonly Step[] {
    const next: Step[] = [];
    while (next.length < count) {
      const release = this.unsent.pop();
      if (!release) break;
      if (!this.expiryUs.has(release)) continue;
      this.underWay.add(release);
      next.push(release);
    }
    return next;
  }

  all(): Step[] {
    return [...this.expiryUs.keys()];
  }

  takeAll(): Step[] {
    const all = this.all();
    for (const release of all) this.delete(release);
    return all;
  }
}

/** About how many bytes a release takes: two for each character of the texts in it, and some for the rest. */
function bytesOf({ key, claim }: Step): number {
  const { id = '', note = '' } = claim ?? {};
  return BYTES_BESIDE_TEXTS + 2 * (key.length + id.length + note.length);
}

/** The store needs a few milliseconds for this many, so requests hardly wait. */
export const MAX_STEPS_PER_TURN = 512;

export const RELEASE_TIMEOUT_US = 1_000_000;

export function releaseOf(step: Step): Step {
  return { ...step, op: 'put' };
}

export function hasFailed(answer: AnswerBase | undefined): boolean {
  return answer === undefined || answer.failure !== undefined;
}
