/// <reference path="../lua.d.ts" />
/** The control's scripts, and the keys that they work on. */

import { systemClock } from '@spillway/core/store';
import type { Transport } from '../calls/transport.js';
import { type Script, scriptOf } from '../codec/script.js';
import announce from '../lua/control-announce.lua';
import follow from '../lua/control-follow.lua';
import followers from '../lua/control-followers.lua';
import history from '../lua/control-history.lua';
import keep from '../lua/control-keep.lua';
import limiters from '../lua/control-limiters.lua';
import read from '../lua/control-read.lua';
import write from '../lua/control-write.lua';

/** All in one hash slot. No count can have such a name: in the names of counts these letters never follow a `%`. */
const TAG = '{%control}';

/** How long a call may take, with the time to wait for a client to connect, by default. */
const PATIENCE_US = 5_000_000;

/** Each rejects with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` or `SPW_STORE_ERROR`. */
export class ControlScripts {
  private readonly transport: Transport;
  private readonly reading = scriptOf(read);
  private readonly writing = scriptOf(write);
  private readonly keeping = scriptOf(keep);
  private readonly telling = scriptOf(history);
  private readonly announcing = scriptOf(announce);
  private readonly naming = scriptOf(limiters);
  private readonly following = scriptOf(follow);
  private readonly counting = scriptOf(followers);

  private readonly settings: string;
  private readonly revision: string;
  private readonly changes: string;
  private readonly names: string;
  private readonly processes: string;
  private readonly dataSet: string;
  private readonly kept: string;

  constructor(transport: Transport, prefix: string) {
    this.transport = transport;
    this.settings = `${prefix}${TAG}settings`;
    this.revision = `${prefix}${TAG}revision`;
    this.changes = `${prefix}${TAG}history`;
    this.names = `${prefix}${TAG}limiters`;
    this.processes = `${prefix}${TAG}followers`;
    this.dataSet = `${prefix}${TAG}dataset`;
    this.kept = `${prefix}${TAG}kept`;
  }

  /** @param follower the id under which this process notes itself */
  read(knownRevision: string, follower: string): Promise<unknown> {
    const { settings, revision, dataSet, kept, processes } = this;
    const keys = [settings, revision, dataSet, kept, processes];
    return this.run(this.reading, keys, [knownRevision, follower]);
  }

  write(args: string[]): Promise<unknown> {
    const { settings, revision, changes, dataSet, kept } = this;
    return this.run(this.writing, [settings, revision, changes, dataSet, kept], args);
  }

  keep(args: string[]): Promise<unknown> {
    return this.run(this.keeping, [this.kept, this.revision, this.dataSet], args);
  }

  history(): Promise<unknown> {
    return this.run(this.telling, [this.changes], []);
  }

  /** Whether a call can be sent at once. */
  get isReady(): boolean {
    return this.transport.isReady;
  }

  announce(args: string[]): Promise<unknown> {
    return this.run(this.announcing, [this.names], args);
  }

  /** What is noted of the limiters with these names; without names, of all. */
  limiters(names: string[] = [], deadlineUs: number = deadlineFromNow()): Promise<unknown> {
    return this.run(this.naming, [this.names], names, deadlineUs);
  }

  follow(args: string[]): Promise<unknown> {
    return this.run(this.following, [this.processes], args);
  }

  followers(): Promise<unknown> {
    return this.run(this.counting, [this.processes, this.revision], []);
  }

  private run(
    script: Script,
    keys: string[],
    args: string[],
    deadlineUs = deadlineFromNow(),
  ): Promise<unknown> {
    return this.transport.run(script, keys, args, { deadlineUs });
  }
}

function deadlineFromNow(): number {
  return systemClock.nowUs() + PATIENCE_US;
}
