/** What the second number of a slot says about a packed log with a block. It has 31 bits. */

/** The most entries: their block has at most 1,503 numbers, and those of an entry are at most five. */
export const MOST_PACKED = 256;

/** How many numbers a sum has, how many entries there are, where in the ring the oldest is, and its rough instant. */
export function describe(sumSize: number, count: number, head: number, rough: number): number {
  return sumSize | (count << 2) | (head << 11) | (rough << 19);
}

export function sumSizeIn(number: number): number {
  return number & 3;
}

export function entriesIn(number: number): number {
  return (number >>> 2) & 511;
}

export function headIn(number: number): number {
  return (number >>> 11) & 255;
}

export function roughIn(number: number): number {
  return number >>> 19;
}

/** How many entries a block with so much room is used for. */
export function ringOf(room: number, entrySize: number): number {
  return Math.min(MOST_PACKED, (room / entrySize) | 0);
}

/** Whether a block has too much room for so many numbers. */
export function isLarge(room: number, numbers: number): boolean {
  return 3 * numbers < room;
}
