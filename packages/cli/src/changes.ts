import type {
  ChangeNote,
  ClearableOfKey,
  LiveLimits,
  Override,
  OverrideNote,
} from '@spillway/core';
import type { KnownLimiter, RedisControl } from '@spillway/redis';
import type { Redis } from 'ioredis';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
import { followedLine, untilFollowed } from './followers.js';
import { exceedsHighest, highestLimit, isShaper, lackedBy, sparedBy } from './in-force.js';
import { forgetCounts, type KeyOptions, keyFrom, lineOf } from './keys.js';
import { type AnywayOption, EVERY, limitersNamed } from './known.js';
import { overridesTable, print, printJson, textOf } from './output.js';
import { plain } from './plain.js';
import { untilOf } from './table.js';
import { durationUntil, instantFrom } from './until.js';

export interface NoteOptions extends CommonOptions, AnywayOption {
  readonly by?: string | undefined;
  readonly because: string;
  readonly for?: string | undefined;
  readonly until?: string | undefined;
  readonly wait?: boolean;
}

interface About {
  readonly what?: 'mode' | 'share' | 'limits';
  readonly allows?: boolean;
  readonly limits?: LiveLimits;
  /** The key whose limits the command changes. If `resets` is set, the command also deletes the counts of the key. */
  readonly key?: string;
  readonly resets?: boolean | undefined;
}

export function change(
  limiter: string,
  options: NoteOptions,
  make: (control: RedisControl, note: OverrideNote) => Promise<void>,
  { what, allows = false, limits, key, resets = false }: About = {},
): Promise<void> {
  const note = noteOf(options);
  const untilMs = options.until === undefined ? undefined : instantFrom(options.until);
  return connected({ ...options, isChange: true }, async (connection) => {
    const { client, control } = connection;
    const named = await limitersNamed(control, limiter, options);
    // Relative to the clock of Redis, because overrides expire by that clock.
    const until = untilMs !== undefined && { for: durationUntil(untilMs, await timeIn(client)) };
    await make(control, { ...note, ...until });
    const all = await control.list();
    const overrides = all.filter((one) => one.limiter === limiter);
    const spared = limiter === EVERY && what ? sparedBy(what, all) : [];
    const ignored = allows ? 'allowed keys' : what === 'limits' ? undefined : what;
    const unfit = [
      ...(ignored === undefined ? [] : shapersIn(named ?? [], `a shaper has no ${ignored}`)),
      ...(limits && limiter !== EVERY ? withoutNumbers(named ?? [], limits) : []),
    ];
    const waitMs = options.wait === false ? 0 : undefined;
    const followed = await untilFollowed(control, limiter, waitMs);
    const isFollowed = named ? named.some((one) => one.isFollowed) : null;
    const found =
      key !== undefined && resets
        ? await forgetCounts(connection, limiter, key, note, named)
        : null;
    if (options.json) {
      const own = spared.map((one) => one.limiter);
      const names = [...new Set([...own, ...unfit.map(({ name }) => name)])];
      const who = { isFollowed, followed: followed ?? null, spared: names };
      return printJson({ overrides, ...who, ...(found && { reset: found }) });
    }
    if (overrides.length === 0) print('It has no live settings: it is as declared.');
    else print(overridesTable(overrides, Date.now()));
    for (const one of spared) print(sparedLine(one));
    for (const { name, why } of unfit) print(`Not applied to ${plain(name)}: ${why}.`);
    print(followedLine(followed, isFollowed));
    if (found) print(lineOf(found));
    else if (key !== undefined) print(STILL_COUNTED);
  });
}

const STILL_COUNTED =
  'What the key has used still counts, so it may stay rejected for a while. To admit it at once, add --reset.';

interface Unfit {
  readonly name: string;
  readonly why: string;
}

function shapersIn(named: readonly KnownLimiter[], why: string): Unfit[] {
  return named.filter(isShaper).map(({ name }) => ({ name, why }));
}

function withoutNumbers(named: readonly KnownLimiter[], limits: LiveLimits): Unfit[] {
  return named.flatMap(({ name, declared }) => {
    const low = declared.find((one) => exceedsHighest(one, limits));
    const most = low && `its limit is at most ${highestLimit(low)} (${plain(low.algorithm)})`;
    if (most) return [{ name, why: `${most}, so all its numbers stay as declared` }];
    const numbers = declared.find((one) => lackedBy(one, limits));
    if (!numbers) return [];
    const lacked = `${lackedBy(numbers, limits)} (${plain(numbers.algorithm)})`;
    return [{ name, why: `it has no ${lacked}, so all its numbers stay as declared` }];
  });
}

export function ruleOnKey(
  verdict: 'block' | 'allow',
  limiter: string,
  key: string | undefined,
  options: NoteOptions & KeyOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  return change(limiter, options, (control, note) => control[verdict](limiter, counted, note), {
    allows: verdict === 'allow',
  });
}

export function clearKey(
  limiter: string,
  key: string | undefined,
  options: NoteOptions & KeyOptions,
  only?: readonly ClearableOfKey[],
): Promise<void> {
  const counted = keyFrom(key, options);
  return change(limiter, options, (control, note) =>
    control.clearKey(limiter, counted, note, only),
  );
}

export function noteOf({ by, because, for: duration }: NoteOptions): OverrideNote {
  const note: ChangeNote = { by: authorOf(by), because };
  return duration === undefined
    ? note
    : { ...note, for: duration as NonNullable<OverrideNote['for']> };
}

async function timeIn(client: Pick<Redis, 'time'>): Promise<number> {
  const [seconds = 0, micros = 0] = await client.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

function sparedLine({ limiter, what, value, by, untilMs }: Override): string {
  const until = untilMs === null ? 'forever' : `until ${untilOf(untilMs, Date.now())}`;
  const own = `${textOf(value)}, by ${plain(by)}, ${until}`;
  return `Not applied to ${plain(limiter)}: it has its own ${what} (${own}). To remove that: spillway clear`;
}
