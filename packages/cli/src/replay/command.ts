import { writeFileSync } from 'node:fs';
import type { TrustProxy } from '@spillway/core/adapter';
import type { Command } from 'commander';
import { examples } from '../command-options.js';
import { print, printJson } from '../output.js';
import { fractionOf, given, numberOf } from '../settings-commands.js';
import { UsageError } from '../usage-error.js';
import type { FieldMap } from './json-lines.js';
import { loadPolicy } from './policy.js';
import { progressBar } from './progress.js';
import { replay } from './replay.js';
import { reportHtml } from './report-html.js';
import { reportText } from './report-text.js';

interface ReplayCommandOptions {
  readonly policy: string;
  readonly compare?: string;
  readonly format?: string;
  readonly fields?: string;
  readonly trustProxy?: string;
  readonly maxRejected: string;
  readonly maxCallers: string;
  readonly top: string;
  readonly html?: string;
  readonly json?: true;
}

export function addReplay(program: Command): void {
  const command = program
    .command('replay')
    .description('replay access logs through a policy: what would it have rejected, and whom?')
    .argument('[logs...]', 'files, plain, gzip or zstd; - or none: standard input')
    .requiredOption(
      '--policy <file>',
      'a module whose default export is a limiter, an array or a guard',
    )
    .option('--compare <file>', 'another policy: who is newly hit?')
    .option(
      '--format <format>',
      'nginx, combined, combined-and-more, common, json, cloudflare, or a log_format string (default: found out)',
    )
    .option('--fields <map>', 'where JSON lines have what: remote_addr=client.ip,time=ts')
    .option('--trust-proxy <proxies>', 'whose X-Forwarded-For to believe: a number, or addresses')
    .option(
      '--max-rejected <share>',
      'find the smallest limit that rejects at most this share',
      '1%',
    )
    .option(
      '--max-callers <count>',
      'find the smallest limit that rejects at most so many callers',
      '0',
    )
    .option('--top <count>', 'how many callers to list', '10')
    .option('--html <file>', 'write a page with pictures')
    .option('--json', 'print JSON')
    .action(run);
  examples(
    command,
    'replay access.log access.log.1.gz --policy policy.js',
    'replay access.log --policy policy.js --compare stricter.js --html report.html',
    `replay app.jsonl --policy policy.js --format json --fields remote_addr=client.ip,time=ts`,
  );
}

async function run(logs: readonly string[], options: ReplayCommandOptions): Promise<void> {
  if (logs.length === 0 && process.stdin.isTTY) throw new UsageError('which logs?');
  const { format, compare, html, fields, trustProxy } = options;
  const bar = progressBar(process.stderr);
  const { maxRejected: share } = options;
  const numbers = {
    maxRejected: given(fractionOf(share), '--max-rejected must be like 1% or 0.01', share),
    maxCallers: countOf('--max-callers', options.maxCallers),
    top: countOf('--top', options.top),
  };
  try {
    const report = await replay({
      logs: logs.length === 0 ? ['-'] : logs,
      policy: await loadPolicy(options.policy),
      compare: compare === undefined ? undefined : await loadPolicy(compare),
      format,
      fields: fields === undefined ? undefined : fieldsOf(fields),
      trustProxy: trustProxy === undefined ? undefined : proxiesOf(trustProxy),
      ...numbers,
      onProgress: bar.show,
    });
    bar.end();
    if (options.json) printJson(report);
    else print(reportText(report));
    if (html !== undefined) writePage(html, reportHtml(report));
  } finally {
    bar.end();
  }
}

/** Called after the report was printed, because the result must not be lost if writing the page fails. */
function writePage(path: string, page: string): void {
  try {
    writeFileSync(path, page);
  } catch (error) {
    throw new UsageError(`cannot write the page: ${(error as Error).message}`);
  }
}

function countOf(option: string, text: string): number {
  return given(numberOf(text), `${option} must be a number such as 10`, text);
}

function fieldsOf(text: string): FieldMap {
  const pairs = text.split(',').map((pair) => {
    const equals = pair.indexOf('=');
    if (equals > 0) return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    throw new UsageError(`--fields must be like remote_addr=client.ip,time=ts, got ${pair}`);
  });
  return Object.fromEntries(pairs) as FieldMap;
}

function proxiesOf(text: string): TrustProxy {
  return /^\d+$/.test(text) ? Number(text) : text.split(',').map((proxy) => proxy.trim());
}
