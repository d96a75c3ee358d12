/// <reference path="../lua.d.ts" />

import type { Clock } from '@spillway/core';
import {
  type ApplyOptions,
  bytesOfText,
  checkValue,
  textOfBytes,
  type ValueName,
  type Values,
  valueCode,
} from '@spillway/core/store';
import type { KeyNamer } from '../codec/keys.js';
import { scriptOf } from '../codec/script.js';
import { noReply } from '../failures.js';
import getting from '../lua/value-get.lua';
import setting from '../lua/value-set.lua';
import type { Transport } from './transport.js';

/** With a test clock, the expiry is part of the stored text, and Redis deletes the key after ten real minutes. */
const TEST_MS = 600_000;

export class RedisValues implements Values {
  private readonly setting = scriptOf(setting);
  private readonly getting = scriptOf(getting);
  private readonly transport: Transport;
  private readonly nameOf: KeyNamer;
  private readonly testClock: Clock | undefined;

  constructor(transport: Transport, nameOf: KeyNamer, testClock?: Clock) {
    this.transport = transport;
    this.nameOf = nameOf;
    this.testClock = testClock;
  }

  async set(
    name: ValueName,
    bytes: Uint8Array,
    ttlUs: number,
    options?: ApplyOptions,
  ): Promise<void> {
    checkValue(bytes, ttlUs);
    const { testClock } = this;
    const text = textOfBytes(bytes);
    const args = testClock
      ? [`${testClock.nowUs() + ttlUs}:${text}`, `${TEST_MS}`]
      : [text, `${Math.ceil(ttlUs / 1000)}`];
    const reply = await this.runScript(this.setting, name, args, options);
    if (Number(reply) !== 1) throw noReply();
  }

  async get(name: ValueName, options?: ApplyOptions): Promise<Uint8Array | undefined> {
    const reply = await this.runScript(this.getting, name, [], options);
    if (reply === null || reply === undefined) return undefined;
    if (typeof reply !== 'string') throw noReply();
    const text = this.testClock ? unexpired(reply, this.testClock.nowUs()) : reply;
    return text === undefined ? undefined : bytesOfText(text);
  }

  private runScript(
    script: typeof this.setting,
    { limiter, key, id }: ValueName,
    args: string[],
    options: ApplyOptions | undefined,
  ): Promise<unknown> {
    const deadlineUs = options?.deadlineUs ?? Infinity;
    const names = [this.nameOf(limiter, key, valueCode(id))];
    return this.transport.runScript(script, names, args, { deadlineUs });
  }
}

function unexpired(reply: string, nowUs: number): string | undefined {
  const at = reply.indexOf(':');
  return Number(reply.slice(0, at)) > nowUs ? reply.slice(at + 1) : undefined;
}
