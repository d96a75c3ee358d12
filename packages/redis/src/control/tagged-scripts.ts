/// <reference path="../lua.d.ts" />

import { hexOf } from '@spillway/core/direct';
import { systemClock } from '@spillway/core/store';
import type { Transport } from '../calls/transport.js';
import { type Script, scriptOf } from '../codec/script.js';
import announce from '../lua/control-announce.lua';
import limiters from '../lua/control-limiters.lua';

/**
 * Puts all keys in one hash slot. No count has this tag, because names of counts never contain `%control`. Names of
 * live settings contain no version, because a kill switch must reach all releases.
 */
const TAG = '{%control}';

const DEFAULT_TIMEOUT_US = 5_000_000;

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

/** Calls reject with `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT` or `SPW_STORE_ERROR`. */
export class TaggedScripts {
  private readonly transport: Transport;
  private readonly prefix: string;

  constructor(transport: Transport, prefix: string) {
    this.transport = transport;
    this.prefix = prefix;
  }

  get isReady(): boolean {
    return this.transport.isReady;
  }

  protected keyOf(name: string): string {
    return `${this.prefix}${TAG}${name}`;
  }

  protected runScript(
    script: Script,
    keys: string[],
    args: string[],
    deadlineUs: number = systemClock.nowUs() + DEFAULT_TIMEOUT_US,
  ): Promise<unknown> {
    return this.transport.runScript(script, keys, args, { deadlineUs });
  }
}

export class LimiterScripts extends TaggedScripts {
  private readonly announcing = scriptOf(announce);
  private readonly naming = scriptOf(limiters);
  private readonly names = this.keyOf('limiters');

  announce(args: string[]): Promise<unknown> {
    return this.runScript(this.announcing, [this.names], args);
  }

  limiters(names: string[] = [], deadlineUs?: number): Promise<unknown> {
    return this.runScript(this.naming, [this.names], names, deadlineUs);
  }
}

export function newProcessId(): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(8)));
}
