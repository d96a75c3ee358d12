/** A fleet gets many guesses of one password at once: only as many are tried as the limit allows. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { checkBuilt } from 'spillway-testkit/processes';
import { RedisServer, redisProgram } from 'spillway-testkit/redis';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

const GUESSER = join(import.meta.dirname, 'guesser.js');
const LIMIT = 5;
const GUESSES = 250;

interface Guessed {
  readonly admitted: number;
  readonly failed: number;
  readonly waits: readonly number[];
}

beforeAll(() => checkBuilt('express'));

describe.skipIf(redisProgram === null)('a thousand guesses at once in four processes', () => {
  it('get exactly as many attempts as the limit, and one lock', async () => {
    const redis = await RedisServer.up();
    const args = [redis.port, LIMIT, GUESSES].map(String);
    const guessers: ChildProcess[] = [1, 2, 3, 4].map(() => fork(GUESSER, args, { execArgv: [] }));
    onTestFinished(() => {
      for (const guesser of guessers) guesser.kill();
    });
    await Promise.all(guessers.map((guesser) => once(guesser, 'message')));
    const results = guessers.map((guesser) => once(guesser, 'message'));
    for (const guesser of guessers) guesser.send('go');
    const guessed = (await Promise.all(results)).map(([result]) => result as Guessed);
    const sum = (of: (one: Guessed) => number) => guessed.reduce((all, one) => all + of(one), 0);
    expect(sum(({ failed }) => failed)).toBe(0);
    expect(sum(({ admitted }) => admitted)).toBe(LIMIT);
    expect(sum(({ waits }) => waits.length)).toBe(4 * GUESSES - LIMIT);
    // None is longer than the first lock, whatever was tried during it.
    for (const wait of guessed.flatMap(({ waits }) => waits)) {
      expect(wait).toBeLessThanOrEqual(900_000);
      expect(wait).toBeGreaterThan(840_000);
    }
  });
});
