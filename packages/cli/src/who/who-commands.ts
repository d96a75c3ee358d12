import type { Command } from 'commander';
import { common, examples } from '../command-options.js';
import { SECRET_FILE, SECRET_HELP } from '../log-secret.js';
import { top } from './top.js';
import { who } from './who.js';

export function addWho(program: Command): void {
  const whom = revealing(program.command('who'))
    .description('who is rejected, or would be in shadow mode: the top callers of 1 and 15 minutes')
    .argument('[limiter]', 'of this limiter only')
    .action(who);
  examples(whom, 'who', 'who api', 'who api --reveal --secret-file /run/secrets/log');
  const live = revealing(program.command('top'))
    .description('the numbers of all limiters, live, until Ctrl-C')
    .option('--every <seconds>', 'how often', '2')
    .option('--once', 'print them once, and end')
    .action(top);
  examples(live, 'top', 'top --once', 'top --every 10 --json >> numbers.jsonl');
}

function revealing(command: Command): Command {
  return common(
    command
      .option('--reveal', 'show callers that the secret of topCallers hides')
      .option(SECRET_FILE, SECRET_HELP),
  );
}
