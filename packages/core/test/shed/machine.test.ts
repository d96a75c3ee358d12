/** The signal of a machine: which workers count, and what happens if its folder cannot be used. */

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineSignal } from '@spillway/core/node';
import { until } from 'spillway-testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fileNameOf, Roster } from '../../src/node/machine-roster.js';

const OWN = '1-a';

/** Workers 1 (this one) to 9; some of them are dead. */
function rosterOf(dead: readonly number[] = []) {
  const roster = new Roster(OWN, (pid) => !dead.includes(pid));
  let nowMs = 0;
  let count = 0;
  const see = (busy: Readonly<Record<string, number>>, stale: readonly string[] = []) => {
    nowMs += 1_000;
    count += 1;
    const files = Object.entries(busy).map(([worker, part]) => fileNameOf(worker, count, part));
    return roster.see([...files, ...stale], nowMs);
  };
  return { see };
}

describe('the workers of a machine', () => {
  it('are all but the one that reads, with the sum of their utilizations', () => {
    const { see } = rosterOf();
    see({ '1-a': 0.9, '2-b': 0.5, '3-c': 1 });
    expect(see({ '1-a': 0.9, '2-b': 0.5, '3-c': 1 })).toEqual({ busy: 1.5, workers: 2, old: [] });
  });

  it('are not those that were killed before, whose process ids are alive again', () => {
    const { see } = rosterOf();
    const stale = [fileNameOf('3-c', 7, 1)];
    for (let i = 0; i < 10; i += 1) expect(see({}, stale)).toMatchObject({ busy: 0, workers: 0 });
  });

  it('are not those that were killed', () => {
    const { see } = rosterOf([3]);
    see({ '2-b': 0.5, '3-c': 1 });
    expect(see({ '2-b': 0.5, '3-c': 1 })).toMatchObject({ busy: 0.5, workers: 1 });
  });

  it('count as busy if they are late, and not at all after 8 s, until their files are removed', () => {
    const { see } = rosterOf();
    see({ '2-b': 0.5, '3-c': 0.25 });
    see({ '2-b': 0.5, '3-c': 0.25 });
    const stale = [fileNameOf('3-c', 2, 0.25)];
    const seen = Array.from({ length: 61 }, () => see({ '2-b': 0.5 }, stale));
    const busy = seen.map((others) => others.busy);
    expect(busy.slice(0, 2)).toEqual([0.75, 0.75]);
    expect(busy.slice(2, 8)).toEqual([1.5, 1.5, 1.5, 1.5, 1.5, 1.5]);
    expect(busy.slice(8)).toEqual(busy.slice(8).map(() => 0.5));
    expect(seen.findIndex(({ old }) => old.length > 0)).toBe(60);
    expect(seen[60]?.old).toEqual(stale);
  });

  it('may be missed by one listing, or listed twice, but not more', () => {
    const { see } = rosterOf();
    see({ '2-b': 0.5, '3-c': 1 }, [fileNameOf('3-c', 0, 0.5)]);
    see({ '2-b': 0.5, '3-c': 1 }, [fileNameOf('3-c', 0, 0.5)]);
    expect(see({ '2-b': 0.5 })).toMatchObject({ busy: 1.5, workers: 2 });
    expect(see({ '2-b': 0.5 })).toMatchObject({ busy: 0.5, workers: 1 });
  });

  it('are no more than 1,024, and no files of other names', () => {
    const { see } = rosterOf();
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${at + 2}-b`, 1]));
    see(many);
    expect(see(many).workers).toBe(1_024);
    const junk = [
      '',
      '.',
      '..',
      'a',
      '2-b.1',
      '2-b.1.1000.tmp',
      '2-b.1.99999',
      '2-../x.1.1',
      '-1-b.1.1',
    ];
    expect(rosterOf().see({}, junk)).toEqual({ busy: 0, workers: 0, old: [] });
    const other = rosterOf();
    other.see({}, ['2-b.1.9999']);
    expect(other.see({}, ['2-b.2.9999'])).toEqual({ busy: 1, workers: 1, old: [] });
  });
});

describe('machineSignal', () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'spillway-machine-'));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  function signalIn(directory: string, name = 'test') {
    const signal = machineSignal({ name, directory });
    onTestFinished(() => signal.close());
    return signal;
  }

  it('counts the workers of one folder, and forgets one that closes', async () => {
    const directory = join(folder(), 'made', 'if-missing');
    const [one, other] = [signalIn(directory), signalIn(directory)];
    expect([one.read(), one.workers]).toEqual([undefined, 0]);
    other.read();
    await until(() => one.workers === 2 && other.workers === 2, 10_000);
    expect(one.read()?.value).toBeLessThanOrEqual(1);
    expect(readdirSync(directory)).toHaveLength(2);
    other.close();
    expect(other.read()).toBeUndefined();
    await until(() => one.workers === 1, 10_000);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  it('counts only the workers of its name', async () => {
    const directory = folder();
    const [one, other] = [signalIn(directory), signalIn(directory)];
    const third = signalIn(directory, 'test-2');
    for (const signal of [one, other, third]) signal.read();
    await until(() => one.workers === 2 && other.workers === 2, 10_000);
    await until(() => third.workers > 0, 10_000);
    expect(readdirSync(directory)).toHaveLength(3);
    expect([one.workers, other.workers, third.workers]).toEqual([2, 2, 1]);
  });

  it('works again after its folder was removed', async () => {
    const directory = join(folder(), 'gone');
    const signal = signalIn(directory);
    signal.read();
    await until(() => signal.workers === 1, 10_000);
    rmSync(directory, { recursive: true });
    await until(() => readable(() => readdirSync(directory).length === 1), 10_000);
    await until(() => readable(() => signal.read() !== undefined), 10_000);
  });

  it.skipIf(process.platform === 'win32')('trusts no folder that others may write to', async () => {
    const open = join(folder(), 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const link = join(folder(), 'link');
    symlinkSync(folder(), link);
    for (const directory of [open, link]) {
      const signal = signalIn(directory);
      signal.read();
      await until(() => !readable(() => signal.read() === undefined), 10_000);
      expect(() => signal.read()).toThrow(`only its own user can write to, got ${directory}`);
      expect(readdirSync(directory)).toEqual([]);
    }
  });

  it.each([
    [{}, 'name must be 1 to 64 of A-Z a-z 0-9 _ -, got undefined'],
    [{ name: '../x' }, 'name must be'],
    [{ name: 'x', directory: '' }, 'directory must be the path of a folder'],
    [{ name: 'x', folder: 'y' }, 'folder'],
  ])('throws for %o', (options, message) => {
    expect(() => machineSignal(options as never)).toThrow(message);
  });
});

function readable(run: () => boolean): boolean {
  try {
    return run();
  } catch {
    return false;
  }
}
