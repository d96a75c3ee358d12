/** The commands that change something. */

import type { ChangeNote, ClearableOfKey, Override, OverrideNote, Setting } from '@spillway/core';
import type { RedisControl } from '@spillway/redis';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
import { followedLine, untilFollowed } from './followers.js';
import { isShaper, sparedBy } from './in-force.js';
import { type KeyOptions, keyFrom } from './keys.js';
import { type AnywayOption, EVERY, limitersNamed } from './known.js';
import { overridesTable, print, textOf } from './output.js';
import { plain } from './plain.js';
import { untilOf } from './table.js';

export interface NoteOptions extends CommonOptions, AnywayOption {
  readonly by?: string | undefined;
  readonly because: string;
  readonly for?: string | undefined;
  /** False: do not wait for the processes. */
  readonly wait?: boolean;
}

/**
 * Makes a change and prints what is set afterwards, and who follows.
 *
 * @param what kind of setting it is about, if it is set for all keys
 */
export function change(
  limiter: string,
  options: NoteOptions,
  make: (control: RedisControl, note: OverrideNote) => Promise<void>,
  what?: Setting['what'],
): Promise<void> {
  return connected({ ...options, isChange: true }, async ({ control }) => {
    const named = await limitersNamed(control, limiter, options);
    await make(control, noteOf(options));
    const all = await control.list();
    const overrides = all.filter((one) => one.limiter === limiter);
    const spared = limiter === EVERY && what ? sparedBy(what, all) : [];
    const isMode = what === 'mode' || what === 'share';
    const shapers = isMode ? (named ?? []).filter(isShaper).map(({ name }) => name) : [];
    const waitMs = options.wait === false ? 0 : undefined;
    const followed = await untilFollowed(control, limiter, waitMs);
    // Null if the list of names cannot be read.
    const isFollowed = named ? named.some((one) => one.isFollowed) : null;
    if (options.json) {
      const names = [...new Set([...spared.map((one) => one.limiter), ...shapers])];
      const who = { isFollowed, followed: followed ?? null, spared: names };
      return print(JSON.stringify({ overrides, ...who }));
    }
    if (overrides.length === 0) print('Nothing is set for it: it is as declared.');
    else print(overridesTable(overrides, Date.now()));
    for (const one of spared) print(sparedLine(one));
    for (const name of shapers) print(`Not for ${plain(name)}: a shaper follows no ${what}.`);
    print(followedLine(followed, isFollowed));
  });
}

export function ruleOnKey(
  verdict: 'block' | 'allow',
  limiter: string,
  key: string | undefined,
  options: NoteOptions & KeyOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  return change(limiter, options, (control, note) => control[verdict](limiter, counted, note));
}

/** Removes what is set for a key, or a part of it. */
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

function noteOf({ by, because, for: duration }: NoteOptions): OverrideNote {
  const note: ChangeNote = { by: authorOf(by), because };
  return duration === undefined
    ? note
    : { ...note, for: duration as NonNullable<OverrideNote['for']> };
}

function sparedLine({ limiter, what, value, by, untilMs }: Override): string {
  const until = untilMs === null ? 'forever' : `until ${untilOf(untilMs, Date.now())}`;
  const own = `${textOf(value)}, by ${plain(by)}, ${until}`;
  return `Not for ${plain(limiter)}: its own ${what} counts there (${own}). To end that: spillway clear`;
}
