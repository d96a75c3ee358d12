/** Workers of one machine read one utilization, in node:cluster, worker threads, and processes without a parent. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from 'spillway-testkit';
import { checkBuilt } from 'spillway-testkit/processes';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

interface Line {
  readonly id: string;
  readonly pid: number;
  readonly workers: number;
  readonly machine: number;
  readonly own: number;
}

const WITHIN_MS = 20_000;

function start(lines: Line[], ...args: readonly string[]): ChildProcess {
  const script = join(import.meta.dirname, 'machine-worker.js');
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout?.on('data', (chunk) => {
    const parts = (text + String(chunk)).split('\n');
    text = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part) as Line);
  });
  return child;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'spillway-machine-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The newest line of each worker, by `of`. */
const newest = (lines: readonly Line[], of: 'id' | 'pid') => [
  ...new Map(lines.map((line) => [line[of], line])).values(),
];

describe('the workers of a machine', () => {
  beforeAll(() => checkBuilt('express'));

  it.each(['cluster', 'threads'])('read the mean of all four (%s)', async (kind) => {
    const lines: Line[] = [];
    start(lines, kind, folder());
    const all = () => newest(lines, 'id');
    await until(() => all().length === 4 && all().every(({ workers }) => workers === 4), WITHIN_MS);
    const from = lines.length;
    await until(() => lines.length >= from + 16, WITHIN_MS);
    const recent = lines.slice(from);
    const mean = (of: 'machine' | 'own', id?: string) => {
      const some = recent.filter((line) => id === undefined || line.id === id);
      return some.reduce((sum, line) => sum + line[of], 0) / some.length;
    };
    // Each worker reads the mean of all, even the worker that does little.
    for (const id of ['0', '1', '2', '3']) {
      expect(Math.abs(mean('machine', id) - mean('own'))).toBeLessThan(0.15);
    }
  });

  it('are fewer once one was killed, and more once one has started', async () => {
    const lines: Line[] = [];
    const directory = folder();
    const args = ['busy', directory, '0.3'] as const;
    const [first] = [start(lines, ...args), start(lines, ...args), start(lines, ...args)];
    const count = (workers: number) => {
      const from = lines.length;
      return until(() => {
        const all = newest(lines.slice(from), 'pid');
        return all.length === workers && all.every((line) => line.workers === workers);
      }, WITHIN_MS);
    };
    await count(3);
    first?.kill('SIGKILL');
    await count(2);
    start(lines, ...args);
    await count(3);
  });
});
