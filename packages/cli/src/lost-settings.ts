import type { RedisControl, Restored } from '@spillway/redis';
import type { Command } from 'commander';
import { type NoteOptions, noteOf } from './changes.js';
import { common, examples, signed } from './command-options.js';
import { connected } from './connection.js';
import { followedLine, untilFollowed } from './followers.js';
import { EVERY } from './known.js';
import { overridesTable, print, printJson } from './output.js';

export const LOST_LINE: string =
  'The store has lost the live settings. Running processes still use these, which are not restored yet.\n' +
  'spillway restore writes them back, spillway clear --all removes them.';

/** The output if nothing was restored, by the reason. Only `other-settings` makes the command fail. */
const NOT_RESTORED: Readonly<Record<NonNullable<Restored['refused']>, string>> = {
  'none-kept': 'Nothing to restore: no process has reported live settings that Redis has lost.',
  'not-lost': 'Nothing to restore: Redis has the settings that processes kept, or newer ones.',
  'other-settings':
    'Redis has other live settings, which were made after the loss (see status). ' +
    'To replace them with those that processes kept, add --force',
};

type RestoreOptions = Omit<NoteOptions, 'for' | 'until'> & { readonly force?: true };

export function addRestore(program: Command): void {
  const command = common(
    signed(
      program
        .command('restore')
        .description('write back the live settings that Redis has lost and processes keep'),
    )
      .option('--force', 'replace live settings that were made after the loss')
      .option('--no-wait', 'do not wait until the processes follow'),
  ).action(restore);
  examples(command, 'restore --because "INC-7: Redis was flushed"');
}

function restore(options: RestoreOptions): Promise<void> {
  return connected({ ...options, isChange: true }, async ({ control }) => {
    const { force = false } = options;
    const { restored, refused } = await control.restore(noteOf(options), { force });
    if (refused === 'other-settings') throw new Error(NOT_RESTORED[refused]);
    if (refused !== null) {
      if (options.json) printJson({ restored, refused });
      else print(NOT_RESTORED[refused]);
      return;
    }
    await printSet(control, options, { restored, refused });
  });
}

export function clearAll(options: NoteOptions): Promise<void> {
  return connected({ ...options, isChange: true }, async ({ control }) => {
    await control.clearAll(noteOf(options));
    await printSet(control, options, {});
  });
}

async function printSet(
  control: RedisControl,
  { json, wait }: Pick<NoteOptions, 'json' | 'wait'>,
  result: object,
): Promise<void> {
  const overrides = await control.list();
  const followed = await untilFollowed(control, EVERY, wait === false ? 0 : undefined);
  if (json) return printJson({ ...result, overrides, followed: followed ?? null });
  print(overridesTable(overrides, Date.now()));
  print(followedLine(followed, null));
}
