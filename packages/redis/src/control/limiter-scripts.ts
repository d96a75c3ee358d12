/// <reference path="../lua.d.ts" />
/** The scripts that note the names of limiters, for stores and controls, and the keys that they work on. */

import { systemClock } from '@spillway/core/store';
import type { Transport } from '../calls/transport.js';
import { type Script, scriptOf } from '../codec/script.js';
import announce from '../lua/control-announce.lua';
import limiters from '../lua/control-limiters.lua';

/** All in one hash slot. No count can have such a name: in the names of counts these letters never follow a `%`. */
const TAG = '{%control}';

/** How long a call may take, with the time to wait for a client to connect, by default. */
const PATIENCE_US = 5_000_000;

/** Each rejects with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` or `SPW_STORE_ERROR`. */
export class LimiterScripts {
  private readonly transport: Transport;
  private readonly prefix: string;
  private readonly announcing = scriptOf(announce);
  private readonly naming = scriptOf(limiters);
  private readonly names: string;

  constructor(transport: Transport, prefix: string) {
    this.transport = transport;
    this.prefix = prefix;
    this.names = this.keyOf('limiters');
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

  protected keyOf(name: string): string {
    return `${this.prefix}${TAG}${name}`;
  }

  protected run(
    script: Script,
    keys: string[],
    args: string[],
    deadlineUs: number = deadlineFromNow(),
  ): Promise<unknown> {
    return this.transport.run(script, keys, args, { deadlineUs });
  }
}

function deadlineFromNow(): number {
  return systemClock.nowUs() + PATIENCE_US;
}
