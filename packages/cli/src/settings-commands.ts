import type { ClearableOfKey, ClearableSetting, LiveLimits, Mode } from '@spillway/core';
import { Argument, type Command } from 'commander';
import { change, clearKey, type NoteOptions } from './changes.js';
import { examples, keyed, noted } from './command-options.js';
import { type KeyOptions, keyFrom, namesKey } from './keys.js';
import { addRestore, clearAll } from './lost-settings.js';
import { UsageError } from './usage-error.js';

interface LimitOptions {
  readonly limit?: string;
  readonly window?: string;
  readonly burst?: string;
  readonly factor?: string;
  readonly allPlans?: boolean;
  readonly reset?: true;
}

interface ClearOptions {
  readonly all?: true;
  readonly only?: string[];
}

type OneKey = KeyOptions & { readonly key?: string };

const MODES: readonly Mode[] = ['enforce', 'shadow', 'off'];
const LIMITER = 'its name in the code, or * for every limiter without its own setting';

export function addSettings(program: Command): void {
  addSet(program);
  addShare(program);
  addLimits(program);
  addClear(program);
  addRestore(program);
}

function addSet(program: Command): void {
  const command = noted(
    program.command('set').description('switch a limiter: enforce, shadow, off'),
  )
    .argument('<limiter>', LIMITER)
    .addArgument(new Argument('<mode>', 'shadow only reports what it would reject').choices(MODES))
    .action((limiter: string, mode: Mode, options: NoteOptions) =>
      change(limiter, options, (control, note) => control.set(limiter, { mode }, note), {
        what: 'mode',
      }),
    );
  examples(
    command,
    'set per-key off --for 10m --because "INC-7: rejects paying customers"',
    'set \'*\' shadow --because "INC-7"',
  );
}

function addShare(program: Command): void {
  const command = noted(
    program
      .command('share')
      .description('enforce a limiter for a share of its keys, shadow for the rest'),
  )
    .argument('<limiter>', LIMITER)
    .argument('<share>', 'as in 0.1 or 10%')
    .action((limiter: string, text: string, options: NoteOptions) => {
      const share = given(fractionOf(text), 'a share must be like 0.1 or 10%', text);
      const set = { share };
      return change(limiter, options, (control, note) => control.set(limiter, set, note), {
        what: 'share',
      });
    });
  examples(command, 'share per-key 10% --for forever --because "rolling out"');
}

function addLimits(program: Command): void {
  const command = program
    .command('limits')
    .description('change the numbers of a limiter, or of one of its keys')
    .argument('<limiter>', 'its name in the code; * with --factor only')
    .option('--limit <units>', 'units per window, or requests at once')
    .option('--window <duration>', 'as in 10s, 1m or 1h')
    .option('--burst <units>', 'units at once, of a token bucket')
    .option('--factor <number>', 'multiplies the limits in the code, as in 2, 0.5 or 150%')
    .option('--all-plans', 'apply the numbers to callers with a plan too')
    .option('--reset', 'with --key: reset its counts, to admit it at once');
  noted(keyed(command, 'only for this key, as the limiter counts it')).action(
    (limiter: string, options: NoteOptions & LimitOptions & OneKey) => {
      const limits = limitsOf(options);
      if (!namesKey(options)) {
        if (options.reset) throw new UsageError('--reset needs a key: add --key or --address');
        const set = { limits };
        return change(limiter, options, (control, note) => control.set(limiter, set, note), {
          what: 'limits',
          limits,
        });
      }
      if (options.allPlans)
        throw new UsageError(
          '--all-plans cannot be combined with a key: the limits of a key override its plan anyway',
        );
      const key = keyFrom(options.key, options);
      return change(
        limiter,
        options,
        (control, note) => control.limitKey(limiter, key, limits, note),
        { limits, key, resets: options.reset },
      );
    },
  );
  examples(
    command,
    'limits per-key --limit 200 --for 2h --because "sale"',
    'limits per-tenant --factor 2 --for 2h --because "sale"',
    'limits per-tenant --key acme --limit 20000 --reset --for 3d --because "their import"',
  );
}

function addClear(program: Command): void {
  const command = program
    .command('clear')
    .description('remove live settings of a limiter, of one of its keys, or all')
    .argument('[limiter]', 'its name in the code, or *')
    .option('--all', 'all live settings of limiters and keys, including those that Redis has lost')
    .option('--only <what...>', 'mode, share or limits; of a key: ruling (block, allow) or limits');
  noted(keyed(command, 'only the settings of this key'), false).action(
    (limiter: string | undefined, options: NoteOptions & OneKey & ClearOptions) => {
      const { only, key } = options;
      if (options.all) {
        if (limiter !== undefined || only || namesKey(options))
          throw new UsageError('--all cannot be combined with a limiter, a key or --only');
        return clearAll(options);
      }
      if (limiter === undefined) throw new UsageError('name a limiter, or add --all');
      if (namesKey(options)) return clearKey(limiter, key, options, only as ClearableOfKey[]);
      return change(limiter, options, (control, note) =>
        control.clear(limiter, note, only as ClearableSetting[]),
      );
    },
  );
  examples(
    command,
    'clear per-key --because "INC-7 is over"',
    'clear per-key --only limits --because "the sale is over"',
    'clear per-tenant --key acme --because "their import is done"',
    'clear --all --because "INC-7 is over"',
  );
}

function limitsOf({ limit, window, burst, factor, allPlans }: LimitOptions): LiveLimits {
  return {
    ...(limit !== undefined && { limit: unitsOf('--limit', limit) }),
    ...(window !== undefined && { window: window as NonNullable<LiveLimits['window']> }),
    ...(burst !== undefined && { burst: unitsOf('--burst', burst) }),
    ...(factor !== undefined && { factor: factorOf(factor) }),
    ...(allPlans && { allPlans }),
  };
}

function unitsOf(option: string, text: string): number {
  return given(numberOf(text), `${option} must be a number such as 200`, text);
}

function factorOf(text: string): number {
  return given(fractionOf(text.replace(/^x/i, '')), '--factor must be like 2, 0.5 or 150%', text);
}

export function given(value: number, must: string, text: string): number {
  if (Number.isNaN(value)) throw new UsageError(`${must}, got ${text}`);
  return value;
}

export function fractionOf(text: string): number {
  return text.endsWith('%') ? numberOf(text.slice(0, -1)) / 100 : numberOf(text);
}

export function numberOf(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}
