/// <reference path="../lua.d.ts" />
/** The control's scripts, the keys that they work on, and how they are run. */

import { SpillwayError } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import type { RedisClient } from '../clients/client.js';
import { type Script, scriptOf } from '../codec/script.js';
import { failedCall, isUnknownScript, unavailable } from '../failures.js';
import { after } from '../host.js';
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

/** How long to wait for a client to connect and for Redis to answer, by default. */
const PATIENCE_MS = 5_000;

/** How often the client is looked at, in case it does not report a change. */
const LOOK_MS = 100;

export class Scripts {
  private readonly client: RedisClient;
  private readonly reading = scriptOf(read);
  private readonly writing = scriptOf(write);
  private readonly telling = scriptOf(history);
  private readonly announcing = scriptOf(announce);
  private readonly naming = scriptOf(limiters);
  /** One promise for all that wait. */
  private change: Promise<void> | undefined;

  constructor(client: RedisClient) {
    this.client = client;
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
    return this.client.state === 'ready';
  }

  announce(args: string[]): Promise<unknown> {
    return this.run(this.announcing, [LIMITERS], args);
  }

  /** What is noted of the limiters with these names; without names, of all. */
  limiters(names: string[] = [], patienceMs: number = PATIENCE_MS): Promise<unknown> {
    return this.run(this.naming, [LIMITERS], names, patienceMs);
  }

  /** @throws SpillwayError `SPW_STORE_UNAVAILABLE`, `SPW_STORE_TIMEOUT`, `SPW_STORE_ERROR` */
  private async run(
    script: Script,
    keys: string[],
    args: string[],
    patienceMs: number = PATIENCE_MS,
  ): Promise<unknown> {
    const untilUs = systemClock.nowUs() + patienceMs * 1000;
    await this.ready(untilUs);
    return inTime(this.call(script, keys, args), untilUs);
  }

  private async call({ sha, text }: Script, keys: string[], args: string[]): Promise<unknown> {
    try {
      return await this.client.evalsha(sha, keys, args).catch((error: unknown) => {
        if (!isUnknownScript(error)) throw error;
        return this.client.eval(text, keys, args);
      });
    } catch (error) {
      throw failedCall(error);
    }
  }

  private async ready(untilUs: number): Promise<void> {
    const { client } = this;
    while (client.state !== 'ready') {
      client.hurry?.();
      if (client.state !== 'connecting' || systemClock.nowUs() >= untilUs) {
        throw unavailable(client.state);
      }
      this.change ??= this.nextChange();
      await this.change;
    }
  }

  private nextChange(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        for (const stop of stops) stop();
        this.change = undefined;
        resolve();
      };
      const stops = [this.client.onceChanged(done), after(LOOK_MS, done)];
    });
  }
}

function inTime<Value>(call: Promise<Value>, untilUs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = after((untilUs - systemClock.nowUs()) / 1000, () =>
      reject(new SpillwayError('SPW_STORE_TIMEOUT', 'Redis did not answer in time')),
    );
    call.then(resolve, reject).finally(stop);
  });
}
