/** A store without values passes these checks. */

import { isSpillwayError } from '@spillway/core';
import type { ValueName, Values } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import { check, expectEqual, type Probe } from '../probe.js';
import { HOSTILE_KEYS } from './keys.js';

const MINUTE_US = 60_000_000;
const SECOND_US = 1_000_000;
const MAX_BYTES = 1_048_576;

export function valueChecks(harness: Harness): Check[] {
  const valued = (name: string, proof: (probe: Probe, values: Values) => Promise<void>): Check =>
    check(name, harness, async (probe) => {
      if (probe.values) await proof(probe, probe.values);
    });
  return [
    valued('keeps the bytes of a value as they are', keepsBytes),
    valued('keeps a value for its time, and at most a second longer', keepsForItsTime),
    valued('keeps values apart by limiter, key and id', keepsApart),
    valued('keeps of one name the value that was set last', keepsTheLast),
    valued('rejects a value that is too large or has no time to live', refusesMistakes),
  ];
}

function valueNameOf(probe: Probe, key = 'ada', id = 'id'): ValueName {
  return { limiter: probe.freshName(), key, id };
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function shown(bytes: Uint8Array | undefined): string {
  return bytes ? `${bytes.length} bytes: ${bytes.slice(0, 80).join(' ')}` : 'nothing';
}

async function expectKept(
  what: string,
  values: Values,
  name: ValueName,
  bytes: Uint8Array | undefined,
): Promise<void> {
  const got = await values.get(name);
  expectEqual(what, shown(bytes), shown(got));
  expectEqual(`${what}: all bytes`, true, bytes?.every((byte, at) => byte === got?.[at]) ?? true);
}

async function keepsBytes(probe: Probe, values: Values): Promise<void> {
  const every = Uint8Array.from({ length: 256 }, (_, at) => at);
  const large = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 7) % 251);
  const all: readonly (readonly [string, Uint8Array])[] = [
    ['nothing', new Uint8Array()],
    ['every byte', every],
    ['NUL', bytesOf('a\0b')],
    ['UTF-8', bytesOf('caf\xc3\xa9 \xf0\x9f\x9a\xb0')],
    ['what is no UTF-8', bytesOf('caf\xe9')],
    ['a byte order mark', bytesOf('\xef\xbb\xbfa')],
    ['a surrogate in UTF-8', bytesOf('\xed\xa0\x80')],
    ['JSON', bytesOf('{"a":1}')],
    ['a number', bytesOf('12')],
    ['lines', bytesOf('\r\n$-1\r\n')],
    ['many', large],
    ['the most', new Uint8Array(MAX_BYTES).fill(97)],
  ];
  for (const [what, bytes] of all) {
    const name = valueNameOf(probe);
    await values.set(name, bytes, MINUTE_US);
    await expectKept(what, values, name, bytes);
  }
  await expectKept('what was never set', values, valueNameOf(probe), undefined);
}

async function keepsForItsTime(probe: Probe, values: Values): Promise<void> {
  const [name, shortest] = [valueNameOf(probe), valueNameOf(probe)];
  await values.set(name, bytesOf('kept'), MINUTE_US);
  await probe.pass(MINUTE_US - 1);
  await expectKept('1 us before the end', values, name, bytesOf('kept'));
  await probe.pass(1 + SECOND_US);
  await expectKept('a second after the end', values, name, undefined);
  await values.set(shortest, bytesOf('kept'), 1);
  await expectKept('at once', values, shortest, bytesOf('kept'));
  await values.set(shortest, bytesOf('kept'), 400 * 86_400 * SECOND_US);
  await probe.pass(399 * 86_400 * SECOND_US);
  await expectKept('after 399 of 400 days', values, shortest, bytesOf('kept'));
}

async function keepsApart(probe: Probe, values: Values): Promise<void> {
  const limiter = probe.freshName();
  const keys = HOSTILE_KEYS.filter((key) => key.length < 1_000);
  const names: ValueName[] = [
    ...keys.map((key) => ({ limiter, key, id: 'id' })),
    ...keys.map((id) => ({ limiter, key: 'ada', id })),
    ...keys.map((text) => ({ limiter: `${limiter}${text}!`, key: 'ada', id: 'id' })),
    { limiter, key: 'a', id: 'b:c' },
    { limiter, key: 'a:b', id: 'c' },
    { limiter, key: 'a', id: '#b' },
  ];
  for (const [at, name] of names.entries()) await values.set(name, bytesOf(`${at}`), MINUTE_US);
  for (const [at, name] of names.entries()) {
    await expectKept(JSON.stringify(name).slice(0, 200), values, name, bytesOf(`${at}`));
  }
}

async function keepsTheLast(probe: Probe, values: Values): Promise<void> {
  const name = valueNameOf(probe);
  await values.set(name, bytesOf('first'), 10 * MINUTE_US);
  await values.set(name, bytesOf('2nd'), MINUTE_US);
  await expectKept('set twice', values, name, bytesOf('2nd'));
  await probe.pass(MINUTE_US + SECOND_US);
  await expectKept('after the time of the second', values, name, undefined);
}

async function refusesMistakes(probe: Probe, values: Values): Promise<void> {
  const name = valueNameOf(probe);
  const wrong: readonly (readonly [string, Uint8Array, number])[] = [
    ['too many bytes', new Uint8Array(MAX_BYTES + 1), MINUTE_US],
    ['a text', 'kept' as unknown as Uint8Array, MINUTE_US],
    ['no time', bytesOf('kept'), 0],
    ['part of a microsecond', bytesOf('kept'), 0.5],
    ['for ever', bytesOf('kept'), Number.POSITIVE_INFINITY],
  ];
  for (const [what, bytes, ttlUs] of wrong) {
    let error = 'none';
    try {
      await values.set(name, bytes, ttlUs);
    } catch (thrown) {
      error = isSpillwayError(thrown) ? thrown.code : String(thrown);
    }
    expectEqual(`${what}: error`, 'SPW_VALUE_INVALID', error);
  }
  await expectKept('after it', values, name, undefined);
}
