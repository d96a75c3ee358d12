/** Which processes follow the settings in Redis: what each of them notes there, and how it is read. */

import { bytesToHex } from '@noble/hashes/utils';
import type { ControlScripts } from './control-scripts.js';
import { ANNOUNCED_EVERY_MS } from './known-limiter.js';

/** A process with a control, as it last noted itself. */
export interface Follower {
  /** The limiters that it has under the control. */
  readonly limiters: readonly string[];
  /** Whether it follows all that is set now; if not, it has not looked since the last change. */
  readonly isCurrent: boolean;
  /** When it is forgotten unless it notes itself again, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** A process notes itself with each announcement. One that is killed is forgotten a minute after the next was due. */
const HELD_MS = ANNOUNCED_EVERY_MS + 60_000;

/** More are not noted, so that nobody fills Redis with starts. */
const MAX_FOLLOWERS = 1_000;

/** No request waits for it, and nothing fails if it fails. */
export class Following {
  readonly id: string = newId();
  private readonly scripts: ControlScripts;
  private readonly names: () => readonly string[];
  private readonly trouble: (error: unknown) => void;
  /** The revision that this process follows; `0` before it has looked. */
  private revision = '0';
  private isNoted = false;
  private hasRoom = false;
  private closed = false;

  /** @param trouble called with the error if Redis cannot store it */
  constructor(
    scripts: ControlScripts,
    names: () => readonly string[],
    trouble: (error: unknown) => void,
  ) {
    this.scripts = scripts;
    this.names = names;
    this.trouble = trouble;
  }

  /** Whether Redis has lost the note of this process, and everything else with it. */
  isMissing(isFound: boolean): boolean {
    return this.hasRoom && !isFound && !this.closed;
  }

  /** This process follows a revision from now on. */
  follows(revision: string): void {
    this.revision = revision;
    void this.note();
  }

  /** Notes this process, if it has limiters. */
  async note(): Promise<void> {
    const names = this.names();
    if (names.length === 0 || this.closed) return;
    this.isNoted = true;
    await this.send(HELD_MS, names);
  }

  /** This process follows no more. */
  close(): void {
    this.closed = true;
    if (this.isNoted && this.scripts.isReady) void this.send(0, []);
  }

  private async send(forMs: number, names: readonly string[]): Promise<void> {
    const args = [this.id, `${forMs}`, this.revision, JSON.stringify(names), `${MAX_FOLLOWERS}`];
    try {
      this.hasRoom = Number(await this.scripts.follow(args)) === 1;
    } catch (error) {
      this.hasRoom = false; // or each look would try again
      if (!this.closed) this.trouble(error);
    }
  }
}

/** The followers in a reply of control-followers.lua. Those of a later format are left out. */
export function decodeFollowers(reply: unknown): Follower[] {
  const [now, newest, ...texts] = (reply as readonly unknown[]).map(String);
  const followers: Follower[] = [];
  for (let i = 1; i < texts.length; i += 2) {
    const [, until, revision, names] =
      /^1 (\d{1,16}) (\d{1,16}) (\[.*\])$/s.exec(texts[i] ?? '') ?? [];
    if (names === undefined || Number(until) <= Number(now)) continue;
    const limiters = decodeNames(names);
    const isCurrent = Number(revision) >= Number(newest);
    if (limiters) followers.push({ limiters, isCurrent, untilMs: Number(until) });
  }
  return followers;
}

/** Undefined if somebody else has written it. */
function decodeNames(text: string): readonly string[] | undefined {
  try {
    return (JSON.parse(text) as unknown[]).map(String);
  } catch {
    return undefined;
  }
}

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

/** 64 random bits. */
function newId(): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(8)));
}
