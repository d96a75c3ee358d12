/** Notes on who paused a key, for health pages. The store keeps such a text while the pause lasts. */

import { isLater } from '@spillway/core/adapter';
import type { DirectClient } from '@spillway/core/direct';
import { type ValueName, type Values, within } from '@spillway/core/store';

const MAX_LENGTH = 256;

const READ_MS = 1_000;

declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

interface LocalNote {
  readonly by: string;
  readonly untilUs: number;
}

export class PauseNotes {
  private readonly limiter: string;
  private readonly client: DirectClient['store'];
  private readonly values: Values | undefined;
  /** The notes of this process, for stores without `values`. */
  private readonly local = new Map<string, LocalNote>();

  constructor(limiter: string, client: DirectClient['store']) {
    this.limiter = limiter;
    this.client = client;
    this.values = client.store.values;
  }

  /** Stores a note. Ignores failures, because notes are only shown on health pages. */
  write(key: string, text: string, holdUs: number): void {
    const by = text.slice(0, MAX_LENGTH);
    if (holdUs === 0) return;
    if (!this.values) {
      this.writeLocally(key, by, holdUs);
      return;
    }
    const bytes = new TextEncoder().encode(by);
    try {
      const written = this.values.set(this.nameOf(key), bytes, holdUs);
      if (written) void written.then(undefined, () => undefined);
    } catch {
      // The store has no room for the note.
    }
  }

  read(key: string): string | null | Promise<string | null> {
    if (!this.values) return this.readLocally(key);
    try {
      const found = this.values.get(this.nameOf(key));
      if (!isLater(found)) return textOf(found);
      return within(READ_MS, found).then((result) =>
        textOf('value' in result ? result.value : undefined),
      );
    } catch {
      return null;
    }
  }

  private writeLocally(key: string, by: string, holdUs: number): void {
    const nowUs = this.client.clock.nowUs();
    for (const [other, { untilUs }] of this.local) if (untilUs <= nowUs) this.local.delete(other);
    this.local.set(key, { by, untilUs: nowUs + holdUs });
  }

  private readLocally(key: string): string | null {
    const note = this.local.get(key);
    return note && note.untilUs > this.client.clock.nowUs() ? note.by : null;
  }

  private nameOf(key: string): ValueName {
    return { limiter: this.limiter, key, id: 'paused-by' };
  }
}

function textOf(bytes: Uint8Array | undefined): string | null {
  return bytes ? new TextDecoder().decode(bytes) : null;
}
