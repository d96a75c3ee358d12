import { type Command, Option } from 'commander';
import { paint } from './paint.js';

const ANYWAY = 'even if no process has announced the limiter';

/** Sets the format of the help. Only subcommands that are added afterwards inherit it. */
export function withMarks(program: Command): Command {
  return program.configureHelp({
    styleTitle: (title) => paint('bold', title),
    optionDescription: ({ description, defaultValue, mandatory }: Option) => {
      if (mandatory) return `${description} (required)`;
      const isShown = typeof defaultValue === 'string';
      return isShown ? `${description} (default: ${defaultValue})` : description;
    },
  });
}

export function common(command: Command): Command {
  return command
    .option('--redis <url>', 'where Redis is, as redis://host:6379 (default: REDIS_URL)')
    .option('--cluster', 'the URL is a node of a Redis Cluster')
    .option('--sentinel-master <name>', 'the URL lists sentinels: redis://a:26379,b:26379')
    .option('--prefix <prefix>', "as in the service's redisStore (default: spw:)")
    .option('--json', 'print JSON');
}

export function signed(command: Command): Command {
  return command
    .requiredOption('--because <reason>', 'why, for your colleagues')
    .option('--by <author>', 'who (default: your user name)');
}

export function noted(command: Command, ends = true): Command {
  signed(command);
  if (ends) {
    command.option('--for <duration>', "how long: 1s to 30d, or 'forever'", '1h');
    const until = new Option('--until <instant>', 'until when, as in 2026-11-27T18:00');
    command.addOption(until.conflicts('for'));
  }
  return common(anyway(command).option('--no-wait', 'do not wait until the processes follow'));
}

export function anyway(command: Command): Command {
  return command.option('--anyway', ANYWAY);
}

export function keyed(command: Command, description: string): Command {
  return addressed(command.option('--key <key>', description));
}

export function addressed(command: Command): Command {
  return command
    .option('--parts', `the key is a list, written as JSON: '["acme","ada"]'`)
    .option('--address <address>', 'a client address instead of a key')
    .option('--ipv6-prefix <bits>', 'as in the service', '64');
}

export function examples(command: Command, ...lines: string[]): Command {
  const title = lines.length === 1 ? 'Example:' : 'Examples:';
  return command.addHelpText('after', () =>
    ['', paint('bold', title), ...lines.map((line) => `  spillway ${line}`)].join('\n'),
  );
}
