import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { common, examples, withMarks } from './command-options.js';
import { doctor } from './doctor/doctor.js';
import { addHash } from './hash.js';
import { addKeys, addOnce } from './key-commands.js';
import { isColoured } from './paint.js';
import { addReplay } from './replay/command.js';
import { addSettings } from './settings-commands.js';
import { status, watchChanges } from './views.js';
import { addWho } from './who/who-commands.js';

/** Where commander would exit, this program throws a CommanderError. It prints usage errors, unless `isQuiet`. */
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
    .showHelpAfterError('(--help lists the options)')
    .addHelpText(
      'after',
      `
<limiter> is a name from your code; * is every limiter without its own setting.
Each process announces its limiters in Redis at startup and every 5 minutes. A name stays known for 10 minutes, or longer
if its counts take longer to expire. For other names, add --anyway.
Live settings expire after an hour, unless you give --for or --until. spillway <command> --help has examples.
Commands that ask Redis, except watch and top, end within 5 s even if Redis hangs.
Exit codes: 0 done, 1 not done or a problem was found, 2 the command line is wrong.`,
    );
  examples(
    program,
    'status',
    'set per-key off --for 10m --because "rejects paying customers"',
    'limits per-tenant --key acme --factor 2 --for 3d --because "their import"',
    'block logins --address 203.0.113.7 --for 1d --because "tries passwords"',
  );
  addViews(program);
  addWho(program);
  addSettings(program);
  addKeys(program);
  addOnce(program);
  addHash(program);
  addReplay(program);
  return program;
}

function addViews(program: Command): void {
  const show = common(program.command('status'))
    .description('print the live settings, the current limits, and the latest changes')
    .argument('[limiter]', 'only this limiter')
    .option('--changes <count>', 'how many changes', '10')
    .action(status);
  examples(show, 'status', 'status per-key --changes 50');
  const follow = common(program.command('watch'))
    .description('print changes as they are made')
    .action(watchChanges);
  examples(follow, 'watch', 'watch --json >> changes.jsonl');
  const look = common(program.command('doctor'))
    .description('check a Redis (rights, version, eviction, memory, clock) and say what to fix')
    .action(doctor);
  examples(look, 'doctor');
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
