import type { Change, Override } from '@spillway/core';
import { MAX_CHANGES } from '@spillway/core/control';
import type { Follower, KnownLimiter, RedisControl } from '@spillway/redis';
import { type CommonOptions, connected } from './connection.js';
import { followersOf } from './followers.js';
import { effectiveSettings, followedBy } from './in-force.js';
import { announced, EVERY, namesNear, unknownLine } from './known.js';
import { limitersTable } from './limiters-table.js';
import { LOST_LINE } from './lost-settings.js';
import { changeLine, changesTable, overridesTable, print, printJson } from './output.js';
import { untilStopped } from './until-stopped.js';
import { UsageError } from './usage-error.js';

const LOOK_EVERY_MS = 500;

export function status(
  limiter: string | undefined,
  options: CommonOptions & { readonly changes: string },
): Promise<void> {
  if (!/^\d+$/.test(options.changes) || Number(options.changes) > MAX_CHANGES) {
    const most = MAX_CHANGES.toLocaleString('en-US');
    throw new UsageError(
      `--changes must be a whole number from 0 to ${most}, got ${options.changes}`,
    );
  }
  return connected(options, async ({ control, prefix }) => {
    const known = await announced(control);
    // Settings of `*` may apply to this limiter.
    const ofIt = (one: { readonly limiter: string }): boolean =>
      limiter === undefined || one.limiter === limiter || one.limiter === EVERY;
    const allOverrides = await control.list();
    const overrides = allOverrides.filter(ofIt);
    const { settingsLost } = control;
    const all = (await control.history()).filter(ofIt);
    const changes = all.slice(0, Number(options.changes));
    const limiters = known?.filter(({ name }) => limiter === undefined || name === limiter);
    const followers = await followersOf(control);
    const unannounced = known && notAmong(known, overrides);
    if (options.json) {
      const shown = limiters?.map((one) => limiterJson(one, allOverrides, followers));
      const names = { limiters: shown ?? null, unannounced: unannounced ?? null };
      return printJson({ overrides, settingsLost, changes, ...names });
    }
    if (settingsLost) print(`${LOST_LINE}\n`);
    print(overridesTable(overrides, Date.now()));
    if (known?.length === 0 && limiter === undefined)
      print(`No process has announced a limiter under the prefix ${prefix}`);
    for (const name of unannounced ?? []) print(unknownLine(name, namesNear(name, known ?? [])));
    if (limiters && limiters.length > 0) {
      print(`\nLimiters:\n${limitersTable(limiters, allOverrides, followers)}`);
    } else if (known && limiter !== undefined && !unannounced?.includes(limiter)) {
      print(unknownLine(limiter, namesNear(limiter, known)));
    }
    if (changes.length > 0) print(`\nLatest changes:\n${changesTable(changes)}`);
  });
}

function limiterJson(
  limiter: KnownLimiter,
  overrides: readonly Override[],
  followers: readonly Follower[] | undefined,
): object {
  const {
    mode,
    share,
    limits,
    numbers,
    overriddenKeyCount: keys,
  } = effectiveSettings(limiter, overrides);
  const value = (one: Override | null): object | null =>
    one && { value: one.value, from: one.limiter };
  const own = { mode: value(mode), share: value(share), limits: value(limits), numbers, keys };
  const followed = followers ? followedBy(limiter.name, followers) : null;
  return { ...limiter, inForce: own, followed };
}

function notAmong(known: readonly KnownLimiter[], overrides: readonly Override[]): string[] {
  const names = new Set(overrides.map(({ limiter }) => limiter));
  for (const { name } of known) names.delete(name);
  names.delete(EVERY);
  return [...names];
}

export function watchChanges(options: CommonOptions): Promise<void> {
  return untilStopped(options, LOOK_EVERY_MS, async ({ control }) => {
    let seen = (await control.history())[0]?.id ?? 0;
    process.stderr.write('Watching for changes.\n');
    return async () => {
      const changes = await changesSince(control, seen);
      for (const change of changes) {
        if (options.json) printJson(change);
        else print(changeLine(change));
      }
      seen = changes.at(-1)?.id ?? seen;
    };
  });
}

async function changesSince(control: RedisControl, id: number): Promise<readonly Change[]> {
  const history = await control.history();
  return history.filter((change) => change.id > id).reverse();
}
