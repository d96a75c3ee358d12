/** The commands. */

import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { common, examples, withMarks } from './command-options.js';
import { doctor } from './doctor/doctor.js';
import { addHash } from './hash.js';
import { addKeys, addOnce } from './key-commands.js';
import { isColoured } from './paint.js';
import { addSettings } from './settings-commands.js';
import { status, watchChanges } from './views.js';
import { addWho } from './who/who-commands.js';

/** Throws a CommanderError where commander would end the process. Prints what is wrong, unless `isQuiet`. */
export function makeProgram(isQuiet: boolean): Command {
  const program = withMarks(new Command('spillway'))
    .description("See and change a fleet's limits live, through its Redis.")
    .version(version())
    .exitOverride()
    .configureOutput({
      ...(isQuiet && { writeErr: () => {} }),
      getOutHasColors: () => isColoured(process.stdout),
      getErrHasColors: () => isColoured(process.stderr),
    })
    .showHelpAfterError('(add --help for what it takes)')
    .addHelpText(
      'after',
      `
A limiter is named as in the code; * is every limiter that has no setting of its own.
Each process announces its limiters in Redis when it starts and every 5 minutes. A name is known for 10 minutes after the
last time, or for longer if its counts take longer to come to rest; commands on other names want --anyway.
What is set ends after an hour, unless --for or --until says otherwise. spillway <command> --help has examples.
A command ends within 5 s, whatever Redis does; watch and top go on.
Exit codes: 0 done, 1 Redis did not do it, 2 the command is wrong.`,
    );
  examples(
    program,
    'status',
    'set per-key off --for 10m --because "refuses paying customers"',
    'limits per-tenant --key acme --factor 2 --for 3d --because "their import"',
    'block logins --address 203.0.113.7 --for 1d --because "tries passwords"',
  );
  addViews(program);
  addWho(program);
  addSettings(program);
  addKeys(program);
  addOnce(program);
  addHash(program);
  return program;
}

function addViews(program: Command): void {
  const show = common(program.command('status'))
    .description('what is set, what is in force for each limiter, and the latest changes')
    .argument('[limiter]', 'of this limiter only')
    .option('--changes <count>', 'how many changes', '10')
    .action(status);
  examples(show, 'status', 'status per-key --changes 50');
  const follow = common(program.command('watch'))
    .description('print changes as they come')
    .action(watchChanges);
  examples(follow, 'watch', 'watch --json >> changes.jsonl');
  const look = common(program.command('doctor'))
    .description('look at a Redis (rights, version, eviction, memory, clock) and say what to do')
    .action(doctor);
  examples(look, 'doctor');
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
