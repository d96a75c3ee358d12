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
import { type Script, scriptOf } from '../codec/script.js';
import { noReply } from '../failures.js';
import getting from '../lua/value-get.lua';
import setting from '../lua/value-set.lua';
import type { Transport } from './transport.js';

/** With a test clock, the expiry is part of the stored text, and Redis deletes the key after ten real minutes. */
const TEST_MS = 600_000;

export function redisValues(transport: Transport, nameOf: KeyNamer, testClock?: Clock): Values {
  const [setScript, getScript] = [scriptOf(setting), scriptOf(getting)];
  const runScript = (
    script: Script,
    { limiter, key, id }: ValueName,
    args: string[],
    { deadlineUs = Infinity }: ApplyOptions = {},
  ): Promise<unknown> =>
    transport.runScript(script, [nameOf(limiter, key, valueCode(id))], args, { deadlineUs });
  return {
    async set(name, bytes, ttlUs, options) {
      checkValue(bytes, ttlUs);
      const text = textOfBytes(bytes);
      const args = testClock
        ? [`${testClock.nowUs() + ttlUs}:${text}`, `${TEST_MS}`]
        : [text, `${Math.ceil(ttlUs / 1000)}`];
      const reply = await runScript(setScript, name, args, options);
      if (Number(reply) !== 1) throw noReply();
    },
    async get(name, options) {
      const reply = await runScript(getScript, name, [], options);
      if (reply === null || reply === undefined) return undefined;
      if (typeof reply !== 'string') throw noReply();
      const text = testClock ? unexpired(reply, testClock.nowUs()) : reply;
      return text === undefined ? undefined : bytesOfText(text);
    },
  };
}

function unexpired(reply: string, nowUs: number): string | undefined {
  const at = reply.indexOf(':');
  return Number(reply.slice(0, at)) > nowUs ? reply.slice(at + 1) : undefined;
}
