import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { describe, expect, it } from 'vitest';
import { BUGS } from './bugs.js';
import { isLinearizable, type Model, type Operation } from './linearizable.js';
import { type Asked, claims, permits, slots, type Told } from './models.js';
import { bundle } from './subject.js';

const MODELS = { permits, claims, slots } as Readonly<
  Record<string, Model<string | number, Asked, Told>>
>;

/** What a process writes: first of a call, then of its answer. */
interface Event {
  readonly call: string;
  readonly kind?: string;
  readonly key?: string;
  readonly input?: Asked;
  readonly output?: Told;
  readonly atUs: number;
}

/** Runs four processes on an empty Redis, kills one of them midway, and returns the operations on each object. */
async function record(seed: number, bug?: string): Promise<Map<string, Operation<Asked, Told>[]>> {
  const mutations = BUGS.find(({ name }) => name === bug)?.mutations ?? [];
  const folder = join(import.meta.dirname, '../node_modules/.cache');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `linearizable-${process.pid}-${seed}.mjs`);
  writeFileSync(file, await bundle(mutations, 'linearizable-worker.ts'));
  const server = await RedisServer.up();
  const texts = await Promise.all(
    ['a', 'b', 'c', 'd'].map(async (name, at) => {
      const rounds = name === 'd' ? 1_000 : 60;
      const child = spawn(process.execPath, [file, server.url, name, `${rounds}`, `${seed + at}`]);
      let text = '';
      child.stdout.on('data', (some) => {
        text += some;
        // While it waits for an answer.
        if (name === 'd' && text.length > 20_000) child.kill('SIGKILL');
      });
      await once(child, 'close');
      return text;
    }),
  );
  const events = texts.flatMap((text) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Event),
  );
  const answers = new Map(events.flatMap((event) => (event.output ? [[event.call, event]] : [])));
  const histories = new Map<string, Operation<Asked, Told>[]>();
  for (const { call, kind, key, input, atUs } of events) {
    if (!kind || !input) continue;
    const answer = answers.get(call);
    const name = `${kind} ${key}`;
    const all = histories.get(name) ?? [];
    histories.set(name, all);
    all.push({ callUs: atUs, returnUs: answer?.atUs ?? Infinity, input, output: answer?.output });
  }
  return histories;
}

function unlinearizable(histories: Map<string, Operation<Asked, Told>[]>): string[] {
  return [...histories].flatMap(([name, operations]) => {
    const model = MODELS[name.split(' ')[0] as string] as Model<string | number, Asked, Told>;
    return isLinearizable(model, operations) ? [] : [name];
  });
}

describe.skipIf(redisProgram === null)('on a real Redis, with a process that is killed', () => {
  it('permits, claims and slots of four processes are linearizable', async () => {
    const histories = await record(1);
    expect(histories.size).toBeGreaterThan(40);
    expect(unlinearizable(histories)).toEqual([]);
  });

  it.each([
    ['one permit too many is given', 'permits'],
    ['a claim that runs is free', 'claims'],
    ['jobs take no slot', 'slots'],
  ])('a planted bug is found: %s', async (bug, kind) => {
    // Whether processes meet is a matter of chance.
    let isFound = false;
    for (let seed = 2; seed < 8 && !isFound; seed += 1) {
      const found = unlinearizable(await record(seed, bug));
      isFound = found.some((name) => name.startsWith(kind));
    }
    expect(isFound).toBe(true);
  });
});

describe('a history', () => {
  const take = (id: string, callUs: number, returnUs: number, allowed: boolean) => ({
    callUs,
    returnUs,
    input: { op: 'take', id } as const,
    output: { allowed, nowUs: 0, tatUs: 0 },
  });

  it('is linearizable if calls that overlap can be put into an order', () => {
    expect(isLinearizable(claims, [take('a', 0, 9, false), take('b', 1, 8, true)])).toBe(true);
    expect(isLinearizable(claims, [take('a', 0, 2, false), take('b', 3, 8, true)])).toBe(false);
    expect(isLinearizable(claims, [take('a', 0, 9, true), take('b', 1, 8, true)])).toBe(false);
  });

  it('may have calls without an answer, which have happened or not', () => {
    const lost = { ...take('c', 0, Infinity, true), output: undefined };
    expect(isLinearizable(claims, [lost, take('a', 1, 2, true)])).toBe(true);
    expect(isLinearizable(claims, [lost, take('a', 1, 2, false)])).toBe(true);
    expect(isLinearizable(claims, [take('a', 1, 2, false)])).toBe(false);
  });
});
