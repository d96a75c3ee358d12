import type { Command } from 'commander';
import { clearKey, type NoteOptions, ruleOnKey } from './changes.js';
import { addressed, anyway, common, examples, noted, signed } from './command-options.js';
import { type KeyOptions, reset } from './keys.js';
import { dropClaim, showClaim } from './once.js';
import { showShapers } from './shapers.js';
import { show } from './show.js';

type Options = NoteOptions & KeyOptions;

const limiterAndKey = (command: Command): Command =>
  addressed(
    command
      .argument('<limiter>', 'its name in the code, or * for every limiter')
      .argument('[key]', 'as the limiter counts it'),
  );

export function addKeys(program: Command): void {
  const block = noted(program.command('block').description('reject one key'));
  limiterAndKey(block).action((limiter: string, key: string | undefined, options: Options) =>
    ruleOnKey('block', limiter, key, options),
  );
  examples(block, 'block logins --address 203.0.113.7 --for 1d --because "tries passwords"');

  const allow = noted(program.command('allow').description('let one key pass uncounted'));
  limiterAndKey(allow).action((limiter: string, key: string | undefined, options: Options) =>
    ruleOnKey('allow', limiter, key, options),
  );
  examples(allow, 'allow per-key acme --for 2h --because "INC-7"');

  const unblock = noted(
    program.command('unblock').description('undo block or allow for one key'),
    false,
  );
  limiterAndKey(unblock).action((limiter: string, key: string | undefined, options: Options) =>
    clearKey(limiter, key, options, ['ruling']),
  );
  examples(unblock, 'unblock logins --address 203.0.113.7 --because "it was us"');

  const shows = common(
    program.command('show').description('show what is counted for one key, and when it expires'),
  );
  limiterAndKey(shows).action(show);
  examples(shows, 'show quota acme', 'show per-address --address 203.0.113.7');

  const paced = common(
    program
      .command('shapers')
      .description('show the next start of a key of a shaper, its pause, and how many jobs run'),
  );
  limiterAndKey(paced).action(showShapers);
  examples(paced, 'shapers partner acme', "shapers '*' acme");

  const resets = common(
    anyway(
      program
        .command('reset')
        .description('reset the counts of one key')
        .option('--because <reason>', 'why', 'count reset')
        .option('--by <author>', 'who (default: your user name)'),
    ),
  );
  limiterAndKey(resets).action(reset);
  examples(resets, 'reset per-key acme', "reset '*' --address 203.0.113.7");
}

export function addOnce(program: Command): void {
  const once = program.command('once').description('show one idempotency key, or free it');
  const claim = (command: Command): Command =>
    common(
      anyway(
        command
          .requiredOption('--scope <scope>', 'the caller, as the scope function returns it')
          .requiredOption('--key <key>', 'as the client sends it')
          .option('--limiter <name>', 'the name of the idempotency()', 'once'),
      ),
    );
  const show = once
    .command('show')
    .description('print its state and its stored response, without the body')
    .option('--body', 'print the body too: it may contain personal data');
  claim(show).action(showClaim);
  examples(show, 'once show --scope ada --key order-17');
  const drop = signed(
    once.command('drop').description('free it and delete its response: a retry then runs'),
  ).option('--running', 'even if a request with it is running');
  claim(drop).action(dropClaim);
  examples(drop, 'once drop --scope ada --key order-17 --because "INC-7: stored a wrong response"');
}
