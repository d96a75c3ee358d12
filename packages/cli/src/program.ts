/** The commands and their options. */

import { readFileSync } from 'node:fs';
import type { ClearableSetting, Mode } from '@spillway/core';
import { Argument, Command } from 'commander';
import { change, type NoteOptions, ruleOnKey } from './changes.js';
import { doctor } from './doctor/doctor.js';
import { type KeyOptions, reset } from './keys.js';
import { dropClaim, showClaim } from './once.js';
import { status, watch } from './views.js';

interface LimitOptions {
  readonly limit?: string;
  readonly window?: string;
  readonly burst?: string;
}

const ANYWAY = 'even if no process has announced the limiter';

const MODES: readonly Mode[] = ['enforce', 'shadow', 'off'];

/** Throws a CommanderError where commander would end the process. Prints what is wrong, unless `isQuiet`. */
export function makeProgram(isQuiet: boolean): Command {
  const program = new Command('spillway')
    .description("Switch, tune and watch a fleet's limits live, through its Redis.")
    .version(version())
    .exitOverride()
    .configureOutput(isQuiet ? { writeErr: () => {} } : {})
    .showHelpAfterError('(add --help for what it takes)')
    .addHelpText(
      'after',
      `
The limiter is its name in the code; * is every limiter that has no setting of its own.
Each process announces its limiters in Redis when it starts and every 5 minutes. A name is known for 10 minutes after the
last time, or for longer if its counts take longer to come to rest; commands on other names want --anyway.
A command ends within 5 s, whatever Redis does; watch goes on.
Exit codes: 0 done, 1 Redis did not do it, 2 the command is wrong.

Examples:
  spillway set per-key off --for 10m --because "refuses paying customers"
  spillway limits per-key --limit 200 --for 2h --because "sale"
  spillway block logins --address 203.0.113.7 --for 1d --because "tries passwords"
  spillway once show --scope ada --key order-17
  spillway status`,
    );
  addViews(program);
  addSettings(program);
  addKeys(program);
  addOnce(program);
  return program;
}

function addViews(program: Command): void {
  common(program.command('status'))
    .description('what is set, by whom, why and until when; the limiters; and the latest changes')
    .argument('[limiter]', 'of this limiter only')
    .option('--changes <count>', 'how many changes', '10')
    .action(status);
  common(program.command('watch')).description('print changes as they come').action(watch);
  common(program.command('doctor'))
    .description('look at a Redis (rights, version, eviction, memory, clock) and say what to do')
    .action(doctor);
}

function addSettings(program: Command): void {
  noted(program.command('set').description('switch a limiter'))
    .argument('<limiter>')
    .addArgument(new Argument('<mode>').choices(MODES))
    .action((limiter: string, mode: Mode, options: NoteOptions) =>
      change(limiter, options, (control, note) => control.set(limiter, { mode }, note)),
    );
  noted(program.command('share').description('enforce a limiter for a share of its keys'))
    .argument('<limiter>')
    .argument('<share>', 'as in 0.1 or 10%')
    .action((limiter: string, text: string, options: NoteOptions) => {
      const share = text.endsWith('%') ? numberOf(text.slice(0, -1)) / 100 : numberOf(text);
      return change(limiter, options, (control, note) => control.set(limiter, { share }, note));
    });
  noted(program.command('limits').description('change the numbers of a limiter'))
    .argument('<limiter>')
    .option('--limit <units>', 'units per window, or requests at once')
    .option('--window <duration>', 'as in 10s, 1m or 1h')
    .option('--burst <units>', 'units at once, of a token bucket')
    .action((limiter: string, options: NoteOptions & LimitOptions) => {
      const limits = limitsOf(options);
      return change(limiter, options, (control, note) => control.set(limiter, { limits }, note));
    });
  noted(program.command('clear').description('end what was set: as declared again'), false)
    .argument('<limiter>')
    .option('--only <what...>', 'mode, share or limits')
    .action((limiter: string, options: NoteOptions & { only?: ClearableSetting[] }) =>
      change(limiter, options, (control, note) => control.clear(limiter, note, options.only)),
    );
}

function addKeys(program: Command): void {
  const of = (command: Command): Command =>
    command
      .argument('<limiter>')
      .argument('[key]', 'as the limiter counts it')
      .option('--address <address>', 'a client address instead of a key')
      .option('--ipv6-prefix <bits>', 'as in the service', '64');
  const rulings = [
    ['block', 'refuse one key'],
    ['allow', 'let one key pass unseen'],
  ] as const;
  for (const [verdict, description] of rulings) {
    of(noted(program.command(verdict).description(description))).action(
      (limiter: string, key: string | undefined, options: NoteOptions & KeyOptions) =>
        ruleOnKey(verdict, limiter, key, options),
    );
  }
  of(noted(program.command('unrule').description('end the ruling on one key'), false)).action(
    (limiter: string, key: string | undefined, options: NoteOptions & KeyOptions) =>
      ruleOnKey('unrule', limiter, key, options),
  );
  of(common(program.command('reset').description('forget the count of one key')))
    .option('--because <reason>', 'why', 'count reset')
    .option('--by <author>', 'who (default: you, as this machine knows you)')
    .option('--anyway', ANYWAY)
    .action(reset);
}

function addOnce(program: Command): void {
  const once = program.command('once').description('one idempotency key: what is kept of it');
  const of = (command: Command): Command =>
    common(command)
      .requiredOption('--scope <scope>', 'the caller, as the function scope gives it')
      .requiredOption('--key <key>', 'as the client sends it')
      .option('--limiter <name>', 'the name of the idempotency', 'once')
      .option('--anyway', ANYWAY);
  of(once.command('show').description('its state, and the answer that is kept, without its body'))
    .option('--body', 'print the body too: it may be personal')
    .action(showClaim);
  of(once.command('drop').description('make it free, and forget its answer: a repeat runs'))
    .requiredOption('--because <reason>', 'why: others will read it')
    .option('--by <author>', 'who (default: you, as this machine knows you)')
    .option('--running', 'also if a request with it is running')
    .action(dropClaim);
}

function common(command: Command): Command {
  return command
    .option('--redis <url>', 'where Redis is (default: REDIS_URL)')
    .option('--cluster', 'it is one node of a Redis Cluster')
    .option('--prefix <prefix>', "as in the service's redisStore (default: spw:)")
    .option('--json', 'print JSON');
}

function noted(command: Command, ends = true): Command {
  if (ends) command.option('--for <duration>', "how long: 1s to 30d, or 'forever'", '1h');
  return common(command)
    .requiredOption('--because <reason>', 'why: others will read it')
    .option('--by <author>', 'who (default: you, as this machine knows you)')
    .option('--anyway', ANYWAY);
}

function limitsOf({ limit, window, burst }: LimitOptions): object {
  return {
    ...(limit !== undefined && { limit: numberOf(limit) }),
    ...(window !== undefined && { window }),
    ...(burst !== undefined && { burst: numberOf(burst) }),
  };
}

/** NaN if it is not a number; the check of the range then refuses it. */
function numberOf(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
