import { systemClock } from '@spillway/core/store';
import type { Transport } from '../calls/transport.js';
import type { Script } from '../codec/script.js';

/**
 * Puts all keys in one hash slot. No count has this tag, because names of counts never contain `%control`. Names of
 * live settings contain no version, because a kill switch must reach all releases.
 */
const TAG = '{%control}';

const DEFAULT_TIMEOUT_US = 5_000_000;

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
    deadlineUs: number = deadlineFromNow(),
  ): Promise<unknown> {
    return this.transport.runScript(script, keys, args, { deadlineUs });
  }
}

function deadlineFromNow(): number {
  return systemClock.nowUs() + DEFAULT_TIMEOUT_US;
}
