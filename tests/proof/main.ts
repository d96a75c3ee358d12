/** The commands of tools/prove.js. */

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Failure, type Subject, simulate } from '@spillway/conformance/simulator';
import { Redis } from 'ioredis';
import { findRedis, startRedis } from '../../packages/testkit/src/redis-process.js';
import { BUGS } from './bugs.js';
import { type Catch, pageOf, plant, row } from './plant.js';
import { agree } from './redis/agreement.js';
import { onRedis, release, subjectOf } from './subject.js';

export async function main([command, ...args]: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '60' },
      only: { type: 'string', default: '' },
      histories: { type: 'string', default: '0' },
      operations: { type: 'string', default: '0' },
      redis: { type: 'boolean', default: false },
      release: { type: 'boolean', default: false },
      steps: { type: 'string', default: '1000000' },
    },
  });
  const seed = Number(values.seed);
  const atLeast = {
    seconds: Number(values.seconds),
    histories: Number(values.histories),
    operations: Number(values.operations),
  };
  if (command === 'bugs') await bugs(seed, values.only);
  else if (command === 'agreement') {
    await withRedis((redis) => agreement(redis, Number(values.steps), seed));
  } else if (values.redis) {
    await withRedis(async (redis) => prove(await onRedis(redis), atLeast, seed));
  } else {
    const subject = await subjectOf();
    const both = values.release ? { ...subject, other: await release() } : subject;
    if (command === 'all') {
      await prove(both, atLeast, seed, 1);
      judgeElsewhere();
    } else await prove(both, atLeast, seed);
  }
}

/** The judges beside the simulator: test files that compare the code with an oracle, a model or itself. */
const JUDGES = [
  'tests/proof/linearizable.test.ts',
  'tests/proof/fuzz.test.ts',
  'tests/conformance/memory.test.ts',
  'tests/conformance/same-on-both.test.ts',
  'tests/conformance/shapers.test.ts',
  'packages/redis/test/conformance.test.ts',
  'packages/redis/test/groups-on-cluster.test.ts',
];

/** Runs all other judges, without the tests that plant bugs of their own. */
function judgeElsewhere(): void {
  const args = ['vitest', 'run', '--testTimeout=600000', ...JUDGES, '-t', '^(?!.*planted bug)'];
  const cwd = join(import.meta.dirname, '../..');
  const { status } = spawnSync('npx', args, { cwd, stdio: 'inherit' });
  console.log(status === 0 ? 'other judges: held' : 'other judges: BROKEN, see above');
  if (status !== 0) process.exitCode = 1;
}

/** A run ends when it has reached all of these. */
interface AtLeast {
  readonly seconds: number;
  readonly histories: number;
  readonly operations: number;
}

/**
 * Runs histories, and prints the result.
 *
 * @param mostBroken after how many broken histories to stop
 */
async function prove(
  subject: Subject,
  atLeast: AtLeast,
  seed: number,
  mostBroken: number = Infinity,
): Promise<void> {
  const until = performance.now() + atLeast.seconds * 1_000;
  let [histories, faulty, operations, broken] = [0, 0, 0, 0];
  let isStopped = false;
  process.once('SIGINT', () => {
    isStopped = true; // the result is still printed
  });
  const isDone = (): boolean =>
    isStopped ||
    broken >= mostBroken ||
    (performance.now() >= until &&
      histories >= atLeast.histories &&
      operations >= atLeast.operations);
  for (let next = seed; !isDone(); next += 1) {
    const result = await simulate(subject, { seed: next });
    histories += 1;
    operations += result.operations;
    if (result.history.plan.faults.length > 0) faulty += 1;
    if (!result.failure) continue;
    broken += 1;
    tell(result.failure);
  }
  const told = [histories, faulty, operations].map((count) => count.toLocaleString('en'));
  console.log(
    `${broken === 0 ? 'held' : 'BROKEN'}: ${told[0]} histories, ${told[1]} with faults, ${told[2]} operations, ${broken} broken (seed ${seed})`,
  );
  if (broken > 0) process.exitCode = 1;
}

function tell({ seed, plan, broken }: Failure): void {
  console.log(`seed ${seed}:`);
  for (const [law, sentence] of broken) console.log(`  ${law}: ${sentence}`);
  console.log(`  ${JSON.stringify(plan)}`);
}

/** Plants every bug whose name contains `only`. If all are planted, writes down which laws caught each. */
async function bugs(seed: number, only: string): Promise<void> {
  const chosen = BUGS.filter(({ name }) => name.includes(only));
  const results: Catch[] = [];
  for (const bug of chosen) {
    const result = await plant(bug, seed, 1_000);
    results.push(result);
    console.log(row(result));
  }
  const caught = results.filter(({ histories }) => histories > 0).length;
  if (only === '') writeFileSync(join(import.meta.dirname, 'planted.md'), pageOf(results, seed));
  console.log(`caught: ${caught} of ${chosen.length} planted bugs (seed ${seed})`);
  if (caught < chosen.length) process.exitCode = 1;
}

/** @throws Error if there is no Redis */
async function withRedis(use: (redis: Redis) => Promise<void>): Promise<void> {
  const program = findRedis();
  if (program === null) throw new Error('no Redis: install redis-server');
  const server = await startRedis(program);
  const redis = new Redis(server.url);
  try {
    await use(redis);
  } finally {
    redis.disconnect();
    server.stop();
  }
}

/** @throws Error if Redis disagrees with the model */
async function agreement(redis: Redis, steps: number, seed: number): Promise<void> {
  const done = await agree(redis, steps, seed);
  console.log(`agreed: ${done.toLocaleString('en')} steps, 0 differences (seed ${seed})`);
}
