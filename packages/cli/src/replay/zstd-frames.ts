/** The sizes of optional fields in a frame's header, by the two bits that describe a field (RFC 8878). */
const DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const CONTENT_BYTES = [0, 2, 4, 8] as const;
const [MAGIC, SKIPPED_MAGIC] = [0xfd2fb528, 0x184d2a50];
const [MAGIC_BYTES, BLOCK_BYTES, CHECKSUM_BYTES] = [4, 3, 4];
const REPEATED = 1;

/**
 * Splits chunks where a frame of zstd ends, because Node's decoder stops at a frame's end within a chunk. Also reports
 * a last frame that is cut, because the decoder does not report it.
 */
export async function* atFrameEnds(
  chunks: AsyncIterable<Buffer>,
  onDamage: (why: string) => void,
): AsyncGenerator<Buffer> {
  const frames = new Frames();
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      const end = frames.endIn(chunk, start);
      yield chunk.subarray(start, end);
      start = end;
    }
  }
  if (frames.isWithin) onDamage('unexpected end of file');
}

type Part = 'magic' | 'skipped' | 'descriptor' | 'block' | 'end';

class Frames {
  /** The part of the frame to read after the next `passing` bytes, which are skipped. */
  private part: Part = 'magic';
  private passing = 0;
  private hasChecksum = false;
  /** The little-endian number that is being read, and the number of bytes read so far. */
  private number = 0;
  private numberBytes = 0;
  private isUnknown = false;

  get isWithin(): boolean {
    return !this.isUnknown && (this.part !== 'magic' || this.passing > 0 || this.numberBytes > 0);
  }

  /**
   * Returns the index in the chunk where the current frame ends; the chunk's length if the frame goes on after the
   * chunk.
   */
  endIn(chunk: Buffer, start: number): number {
    if (this.isUnknown) return chunk.length;
    for (let at = start; ; ) {
      const passed = Math.min(this.passing, chunk.length - at);
      at += passed;
      this.passing -= passed;
      if (this.passing === 0 && this.part === 'end') {
        this.part = 'magic';
        return at;
      }
      if (at === chunk.length) return at;
      this.number += (chunk[at] as number) * 256 ** this.numberBytes;
      this.numberBytes += 1;
      at += 1;
      if (this.numberBytes === bytesOf(this.part)) {
        const { number } = this;
        this.number = 0;
        this.numberBytes = 0;
        this.turn(number);
        if (this.isUnknown) return chunk.length;
      }
    }
  }

  private turn(number: number): void {
    if (this.part === 'magic') {
      if (number === MAGIC) this.part = 'descriptor';
      else if (number - (number % 16) === SKIPPED_MAGIC) this.part = 'skipped';
      else this.isUnknown = true; // the decoder reports the damage
    } else if (this.part === 'skipped') {
      this.passing = number;
      this.part = 'end';
    } else if (this.part === 'descriptor') {
      const isSingle = (number & 32) !== 0;
      const content = CONTENT_BYTES[number >> 6] as number;
      this.hasChecksum = (number & 4) !== 0;
      this.passing =
        (DICTIONARY_BYTES[number & 3] as number) + (isSingle ? Math.max(1, content) : 1 + content);
      this.part = 'block';
    } else {
      const isLast = (number & 1) === 1;
      this.passing = ((number >> 1) & 3) === REPEATED ? 1 : number >> 3;
      if (!isLast) return;
      if (this.hasChecksum) this.passing += CHECKSUM_BYTES;
      this.part = 'end';
    }
  }
}

function bytesOf(part: Part): number {
  if (part === 'descriptor') return 1;
  return part === 'block' ? BLOCK_BYTES : MAGIC_BYTES;
}
