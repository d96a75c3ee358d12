/// <reference path="../lua.d.ts" />
/** The control's scripts, and the keys that they work on. */

import { systemClock } from '@spillway/core/store';
import type { Transport } from '../calls/transport.js';
import { type Script, scriptOf } from '../codec/script.js';
import announce from '../lua/control-announce.lua';
import history from '../lua/control-history.lua';
import limiters from '../lua/control-limiters.lua';
import read from '../lua/control-read.lua';
import write from '../lua/control-write.lua';

/** All in one hash slot. No count can have such a name: in the names of counts these letters never follow a `%`. */
const SETTINGS = 'spw:{%control}settings';
const REVISION = 'spw:{%control}revision';
const HISTORY = 'spw:{%control}history';
const LIMITERS = 'spw:{%control}limiters';

/** How long a call may take, with the time to wait for a client to connect, by default. */
const PATIENCE_US = 5_000_000;

/** Each rejects with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` or `SPW_STORE_ERROR`. */
export class ControlScripts {
  private readonly transport: Transport;
  private readonly reading = scriptOf(read);
  private readonly writing = scriptOf(write);
  private readonly telling = scriptOf(history);
  private readonly announcing = scriptOf(announce);
  private readonly naming = scriptOf(limiters);

  constructor(transport: Transport) {
    this.transport = transport;
  }

  read(knownRevision: string): Promise<unknown> {
    return this.run(this.reading, [SETTINGS, REVISION], [knownRevision]);
  }

  write(args: string[]): Promise<unknown> {
    return this.run(this.writing, [SETTINGS, REVISION, HISTORY], args);
  }

  history(): Promise<unknown> {
    return this.run(this.telling, [HISTORY], []);
  }

  /** Whether a call can be sent at once. */
  get isReady(): boolean {
    return this.transport.isReady;
  }

  announce(args: string[]): Promise<unknown> {
    return this.run(this.announcing, [LIMITERS], args);
  }

  /** What is noted of the limiters with these names; without names, of all. */
  limiters(names: string[] = [], deadlineUs: number = deadlineFromNow()): Promise<unknown> {
    return this.run(this.naming, [LIMITERS], names, deadlineUs);
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
