import type { ControlScripts } from './control-scripts.js';
import { ANNOUNCED_EVERY_MS } from './known-limiter.js';
import { newProcessId } from './tagged-scripts.js';

/** A process that has limiters under a control. */
export interface Follower {
  /** The names of the process's limiters. */
  readonly limiters: readonly string[];
  /** Whether the process follows the latest revision of the live settings. */
  readonly isCurrent: boolean;
  /** The time at which the entry expires if the process does not register again, in milliseconds since the epoch. */
  readonly untilMs: number;
}

/** The entry of a killed process expires a minute after its next registration was due. */
const HELD_MS = ANNOUNCED_EVERY_MS + 60_000;

/** Bounds memory if processes keep restarting. */
const MAX_FOLLOWERS = 1_000;

/** Registers this process in the background, so requests neither wait for registrations nor fail with them. */
export class Following {
  readonly id: string = newProcessId();
  private readonly scripts: ControlScripts;
  private readonly names: () => readonly string[];
  private readonly trouble: (error: unknown) => void;
  private revision = '0';
  private isNoted = false;
  private hasRoom = false;
  private closed = false;

  constructor(
    scripts: ControlScripts,
    names: () => readonly string[],
    trouble: (error: unknown) => void,
  ) {
    this.scripts = scripts;
    this.names = names;
    this.trouble = trouble;
  }

  /** Whether Redis has no entry of this process, although Redis had one. If so, Redis has probably lost all data. */
  isMissing(isFound: boolean): boolean {
    return this.hasRoom && !isFound && !this.closed;
  }

  follows(revision: string): void {
    this.revision = revision;
    void this.registerFollower();
  }

  async registerFollower(): Promise<void> {
    const names = this.names();
    if (names.length === 0 || this.closed) return;
    this.isNoted = true;
    await this.sendFollower(HELD_MS, names);
  }

  stopFollowing(): void {
    this.closed = true;
    if (this.isNoted && this.scripts.isReady) void this.sendFollower(0, []);
  }

  private async sendFollower(forMs: number, names: readonly string[]): Promise<void> {
    const args = [this.id, `${forMs}`, this.revision, JSON.stringify(names), `${MAX_FOLLOWERS}`];
    try {
      this.hasRoom = Number(await this.scripts.follow(args)) === 1;
    } catch (error) {
      this.hasRoom = false; // otherwise each poll would retry
      if (!this.closed) this.trouble(error);
    }
  }
}

/** Decodes the reply of control-followers.lua. Skips expired entries, and entries in the format of a later release. */
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

function decodeNames(text: string): readonly string[] | undefined {
  try {
    return (JSON.parse(text) as unknown[]).map(String);
  } catch {
    return undefined;
  }
}
