/// <reference path="../lua.d.ts" />
/** The scripts that store and read the list of limiters, for stores and controls, and their keys. */

import { systemClock } from '@spillway/core/store';
import type { Transport } from '../calls/transport.js';
import { type Script, scriptOf } from '../codec/script.js';
import announce from '../lua/control-announce.lua';
import limiters from '../lua/control-limiters.lua';

/**
 * Puts all keys in one hash slot. No count can have such a name: in names of counts, `%` is never followed by these
 * letters.
 */
const TAG = '{%control}';

/** The default timeout of a call, including the time to connect. */
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
    return this.runScript(this.announcing, [this.names], args);
  }

  /** The stored entries of the limiters with these names; of all if there are no names. */
  limiters(names: string[] = [], deadlineUs: number = deadlineFromNow()): Promise<unknown> {
    return this.runScript(this.naming, [this.names], names, deadlineUs);
  }

  protected keyOf(name: string): string {
    return `${this.prefix}${TAG}${name}`;
  }

  protected runScript(
    script: Script,
    keys: string[],
    args: string[],
    deadlineUs: number = deadlineFromNow(),
  ): Promise<unknown> {
    return this.transport.runScript(script, keys, args, { deadlineUs });
  }
}

function deadlineFromNow(): number {
  return systemClock.nowUs() + PATIENCE_US;
}
