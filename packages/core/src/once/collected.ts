/** An answer while it is given: its head, and its body as long as that is not too long. */

import type { Field } from '../contract/request.js';
import type { AnswerRecord } from './record.js';

export class Collected {
  private answer: { readonly status: number; readonly fields: readonly Field[] } | undefined;
  private chunks: Uint8Array[] = [];
  private length = 0;
  private most = 0;

  /** @param most the most bytes of a body */
  begin(status: number, fields: readonly Field[], most: number): void {
    this.answer = { status, fields };
    this.chunks = [];
    this.length = 0;
    this.most = most;
  }

  /** Whether more is wanted. */
  add(bytes: Uint8Array): boolean {
    this.length += bytes.length;
    if (this.length > this.most) this.chunks = [];
    else if (bytes.length > 0) this.chunks.push(new Uint8Array(bytes)); // whoever wrote them may use them again
    return this.length <= this.most;
  }

  /** The answer, with its body if that was not too long; undefined if there is none yet. */
  record(): AnswerRecord | undefined {
    const { answer } = this;
    return answer && { ...answer, body: this.length <= this.most ? this.bytes() : undefined };
  }

  /** The answer without its body, of which the end is not known; undefined if there is none yet. */
  bodiless(): AnswerRecord | undefined {
    return this.answer && { ...this.answer, body: undefined };
  }

  private bytes(): Uint8Array {
    const bytes = new Uint8Array(this.length);
    let at = 0;
    for (const chunk of this.chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }
}
