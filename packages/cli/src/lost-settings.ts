/** Live settings that Redis has lost, and how they are written back or ended. */

import type { Restored } from '@spillway/redis';
import type { Command } from 'commander';
import { authorOf } from './author.js';
import { type NoteOptions, noteOf } from './changes.js';
import { common, examples, signed } from './command-options.js';
import { type CommonOptions, connected } from './connection.js';
import { overridesTable, print, printJson } from './output.js';
import { UsageError } from './usage-error.js';

/** What `status` and `doctor` say. */
export const LOST = 'the store has lost the live settings; processes keep those that they know';
export const LOST_TODO =
  'spillway restore --because "..." writes them back; spillway clear --all --because "..." ends them';

interface RestoreOptions extends CommonOptions {
  readonly because: string;
  readonly by?: string;
  readonly force?: true;
}

const REFUSALS: Readonly<Record<Exclude<Restored['refused'], null>, string>> = {
  'none-kept': 'no running process has offered settings that Redis has lost',
  'not-lost': 'Redis has all that processes know of, or newer settings',
  'other-settings':
    'something was set since the loss, and what processes knew before is another set: look with status. Add --force ' +
    'to put what they knew in its place',
};

export function addRestore(program: Command): void {
  const command = common(
    signed(
      program.command('restore').description('write back the live settings that Redis has lost'),
    ),
  )
    .option('--force', 'in place of what was set since')
    .action(restore);
  examples(command, 'restore --because "Redis was restarted without its data"');
}

function restore({ because, by, force, ...options }: RestoreOptions): Promise<void> {
  return connected({ ...options, isChange: true }, async ({ control }) => {
    const found = await control.restore({ by: authorOf(by), because }, { force: force === true });
    const { refused, restored } = found;
    if (refused === 'other-settings')
      throw new UsageError(`nothing was restored: ${REFUSALS[refused]}`);
    const overrides = await control.list();
    if (options.json) printJson({ ...found, overrides });
    else if (refused) print(`Nothing was restored: ${REFUSALS[refused]}.`);
    else print(`${overridesTable(overrides, Date.now())}\nRestored: ${restored}.`);
  });
}

export function clearAll(options: NoteOptions): Promise<void> {
  return connected({ ...options, isChange: true }, async ({ control }) => {
    await control.clearAll(noteOf(options));
    if (options.json) printJson({ overrides: [] });
    else print('Nothing is set: every limiter is as declared.');
  });
}
