/** The commands that only look. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from '@spillway/core';
import type { RedisControl } from '@spillway/redis';
import { type CommonOptions, connected } from './connection.js';
import { changeLine, changesTable, overridesTable, print, printError } from './output.js';
import { UsageError } from './usage-error.js';

const LOOK_EVERY_MS = 500;

export function status(
  limiter: string | undefined,
  options: CommonOptions & { readonly changes: string },
): Promise<void> {
  if (!/^\d{1,4}$/.test(options.changes)) {
    throw new UsageError(`--changes must be a number up to 1000, got ${options.changes}`);
  }
  return connected(options, async ({ control }) => {
    const ofIt = (one: { readonly limiter: string }): boolean =>
      limiter === undefined || one.limiter === limiter;
    const overrides = (await control.list()).filter(ofIt);
    const all = (await control.history()).filter(ofIt);
    const changes = all.slice(0, Number(options.changes));
    if (options.json) return print(JSON.stringify({ overrides, changes }));
    print(overridesTable(overrides, Date.now()));
    if (changes.length > 0) print(`\nLatest changes:\n${changesTable(changes)}`);
  });
}

/** Prints each change that is made from now on, until it is stopped. */
export function watch(options: CommonOptions): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort());
  }
  return connected({ ...options, patient: true }, async ({ control }) => {
    let seen = (await control.history())[0]?.id ?? 0;
    process.stderr.write('Watching for changes.\n');
    let isAway = false;
    while (!stop.signal.aborted) {
      await delay(LOOK_EVERY_MS, undefined, stop).catch(() => undefined);
      try {
        const changes = await changesSince(control, seen);
        for (const change of changes) {
          print(options.json ? JSON.stringify(change) : changeLine(change));
        }
        seen = changes.at(-1)?.id ?? seen;
        isAway = false;
      } catch (error) {
        if (!isAway) printError(error, options.json === true);
        isAway = true;
      }
    }
  });
}

/** Oldest first. */
async function changesSince(control: RedisControl, id: number): Promise<readonly Change[]> {
  const history = await control.history();
  return history.filter((change) => change.id > id).reverse();
}
