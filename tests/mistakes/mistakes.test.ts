/**
 * Wrong calls in plain JavaScript, in every framework, against the build: each answers with a sentence that says how to
 * fix it. `table.js` has the calls and the sentences.
 */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** The result of one call in one framework. */
interface Told {
  readonly world: string;
  readonly title: string;
  readonly fits: boolean;
  readonly got: string;
  readonly wanted: string;
  /** For mistakes that show only at requests: the expected and the actual statuses. */
  readonly status?: number;
  readonly statuses?: readonly number[];
}

const { stdout } = await promisify(execFile)(
  process.execPath,
  [join(import.meta.dirname, 'run.js')],
  { maxBuffer: 10_000_000 },
);
const told: readonly Told[] = JSON.parse(stdout);
const worlds = [...new Set(told.map(({ world }) => world))];

it('is tried in every framework', () => {
  const names = 'Express 5, Express 4, Koa, Fastify, Hono, NestJS, node:http, fetch';
  expect(worlds.join(', ')).toBe(names);
  expect(told.length).toBeGreaterThan(worlds.length * 80);
});

describe.each(worlds)('%s', (name) => {
  it.each(told.filter(({ world }) => world === name))(
    '$title',
    ({ fits, got, wanted, status, statuses }) => {
      if (!fits) expect(got).toBe(wanted);
      // A mistake that shows only at requests fails no request.
      expect(statuses).toEqual(status && [status]);
    },
  );
});

it('is told in a worker of node:cluster, once, that limits without a store are counted there alone', async () => {
  const script = join(import.meta.dirname, 'cluster.js');
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  const { ofPrimary, ofWorker } = JSON.parse(stdout);
  expect(ofPrimary).toEqual([]);
  expect(ofWorker).toEqual([
    expect.stringMatching(/alone, which is a worker of node:cluster: set store.*SPW_STORE_MISSING/),
  ]);
});
