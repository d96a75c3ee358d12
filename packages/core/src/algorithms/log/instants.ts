/** How the instants of packed logs are kept: in two or three 16-bit numbers, and roughly in a few bits. */

/** A rough instant has 12 bits. Those of a log are less than half of their range apart. */
const ROUGH_BITS = 12;
const MOST_APART = 2 ** (ROUGH_BITS - 1) - 2;

/**
 * For windows of one length after the other. Instants are kept modulo 2^32 us or, if the window is longer than that (71
 * minutes), 2^48 us, and told apart by the newest one, which is kept whole: the entries of a log are less than its
 * window apart.
 */
export class Instants {
  /** How many numbers one has. */
  size = 2;
  private windowUs = 0;
  /** What a rough instant is multiplied by, and cut: the largest power of 1/2 that does. */
  private roughness = 1;

  turnTo(windowUs: number): void {
    if (windowUs === this.windowUs) return;
    this.windowUs = windowUs;
    this.size = windowUs < 2 ** 32 ? 2 : 3;
    this.roughness = 1;
    while (windowUs * this.roughness > MOST_APART) this.roughness /= 2;
  }

  write(page: Uint16Array, at: number, us: number): void {
    page[at] = us;
    page[at + 1] = us / 2 ** 16;
    if (this.size > 2) page[at + 2] = us / 2 ** 32;
  }

  /** The instant that was written at `at`: at most `lastUs`, the newest one of its log. */
  read(page: Uint16Array, at: number, lastUs: number): number {
    const { size } = this;
    const cycleUs = size > 2 ? 2 ** 48 : 2 ** 32;
    let us = Math.floor(lastUs / cycleUs) * cycleUs;
    us += (page[at] as number) + (page[at + 1] as number) * 2 ** 16;
    if (size > 2) us += (page[at + 2] as number) * 2 ** 32;
    return us > lastUs ? us - cycleUs : us;
  }

  /** The rough instant: 0 to 2^12 - 1. */
  rough(us: number): number {
    return (us * this.roughness) & (2 ** ROUGH_BITS - 1);
  }

  /** Whether the instant of which `rough` is kept is later than `us` for sure. They are less than a window apart. */
  isLater(rough: number, us: number): boolean {
    return (rough - this.rough(us)) << (32 - ROUGH_BITS) > 0;
  }
}
