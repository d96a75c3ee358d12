/** A longer line is not a request. For example, nginx by default accepts at most 32 kB of headers. */
export const MAX_LINE_BYTES = 65_536;

const MARK = Buffer.from('\ufeff');
const NEWLINE = 10;
const RETURN = 13;

export type TakeLine = (bytes: Buffer, start: number, end: number) => void;

export class Lines {
  private rest: Buffer[] = [];
  private restBytes = 0;
  private isFirst = true;
  private readonly take: TakeLine;

  /**
   * @param take receives each line that is not empty, without its line break; lines longer than {@link MAX_LINE_BYTES}
   * may be cut
   */
  constructor(take: TakeLine) {
    this.take = take;
  }

  push(chunk: Buffer): void {
    let start = 0;
    let end = chunk.indexOf(NEWLINE);
    if (end >= 0 && this.restBytes > 0) {
      this.keep(chunk.subarray(0, end));
      this.flush();
      start = end + 1;
      end = chunk.indexOf(NEWLINE, start);
    }
    for (; end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.give(chunk, start, end);
      start = end + 1;
    }
    this.keep(chunk.subarray(start));
  }

  /** Call this at the end, because the last line may have no line break. */
  flush(): void {
    if (this.restBytes === 0) return;
    const line = this.rest.length === 1 ? (this.rest[0] as Buffer) : Buffer.concat(this.rest);
    this.rest = [];
    this.restBytes = 0;
    this.give(line, 0, line.length);
  }

  private keep(part: Buffer): void {
    const room = MAX_LINE_BYTES + 2 - this.restBytes;
    if (part.length === 0 || room <= 0) return;
    // Copied, because otherwise a line that ends much later would keep the whole chunk in memory.
    this.rest.push(Buffer.from(part.subarray(0, room)));
    this.restBytes += Math.min(part.length, room);
  }

  private give(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === RETURN ? end - 1 : end;
    const isMarked = this.isFirst && bytes.subarray(start, last).indexOf(MARK) === 0;
    const first = isMarked ? start + MARK.length : start;
    this.isFirst = false;
    if (last > first) this.take(bytes, first, last);
  }
}
