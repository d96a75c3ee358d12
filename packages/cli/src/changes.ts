/** The commands that change something. */

import type { ChangeNote, Override, OverrideNote } from '@spillway/core';
import type { RedisControl } from '@spillway/redis';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
import { type KeyOptions, keyFrom } from './keys.js';
import { type AnywayOption, limitersNamed } from './known.js';
import { overridesTable, print } from './output.js';

export interface NoteOptions extends CommonOptions, AnywayOption {
  readonly by?: string | undefined;
  readonly because: string;
  readonly for?: string | undefined;
}

/** Makes a change and prints what is set afterwards. */
export function change(
  limiter: string,
  options: NoteOptions,
  make: (control: RedisControl, note: OverrideNote) => Promise<void>,
): Promise<void> {
  return connected({ ...options, isChange: true }, async ({ control }) => {
    const named = await limitersNamed(control, limiter, options);
    await make(control, noteOf(options));
    const overrides = (await control.list()).filter((one) => one.limiter === limiter);
    // Null if the list of names cannot be read.
    const isFollowed = named ? named.some((one) => one.isFollowed) : null;
    if (options.json) print(JSON.stringify({ overrides, isFollowed }));
    else show(overrides, isFollowed);
  });
}

export function ruleOnKey(
  verdict: 'block' | 'allow' | 'unrule',
  limiter: string,
  key: string | undefined,
  options: NoteOptions & KeyOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  return change(limiter, options, (control, note) => {
    if (verdict === 'unrule') return control.clearKey(limiter, counted, note);
    return control[verdict](limiter, counted, note);
  });
}

function noteOf({ by, because, for: duration }: NoteOptions): OverrideNote {
  const note: ChangeNote = { by: authorOf(by), because };
  return duration === undefined
    ? note
    : { ...note, for: duration as NonNullable<OverrideNote['for']> };
}

function show(overrides: readonly Override[], isFollowed: boolean | null): void {
  if (overrides.length === 0) print('Nothing is set for it: it is as declared.');
  else print(overridesTable(overrides, Date.now()));
  if (isFollowed === false) {
    print('No process with a control has announced it: nobody is known to follow.');
  }
}
