import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { progressBar } from '../../src/replay/progress.js';
import { reportHtml } from '../../src/replay/report-html.js';
import { run } from '../../src/run.js';
import { table } from '../../src/table.js';
import { combined, linesOf, perMinute, replayed } from './logs.js';

const CORE = join(import.meta.dirname, '../../../core/src/index.ts');
const folder = mkdtempSync(join(tmpdir(), 'replay-'));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const policy = file(
  'policy.ts',
  `import { rateLimit } from ${JSON.stringify(CORE)};
  export default rateLimit({ name: 'per-address', limit: 2, window: '1m' });`,
);
const other = file(
  'other.ts',
  `import { createGuard, rateLimit } from ${JSON.stringify(CORE)};
  export default createGuard([rateLimit({ name: 'per-address', limit: 1, window: '1m' })]);`,
);
const alone = file('alone.ts', `import '@spillway/none';`);
const thrown = file('thrown.js', `throw new Error('no settings:\\n  REDIS_URL is missing');`);
const required = file('required.cjs', `require('@spillway/none/inner');`);
const log = file(
  'access.log',
  linesOf(combined(0), combined(0), combined(1_000), 'a\u001b[2Jline', combined(0, '192.0.2.1')),
);

async function spillway(...args: string[]) {
  const out: unknown[] = [];
  const err: unknown[] = [];
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(text) > 0),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(text) > 0),
  ];
  const code = await run(['replay', ...args]);
  for (const spy of spies) spy.mockRestore();
  return { code, out: out.join(''), err: err.join('') };
}

describe('spillway replay', () => {
  it('prints text, without what could act on a terminal', async () => {
    const { code, out } = await spillway(log, '--policy', policy);
    expect(code).toBe(0);
    expect(out).toContain('4 requests of 1 log');
    expect(out).toContain('It would have rejected 1 of 4 requests (25 %), of 1 of 2 callers.');
    expect(out).toContain('a\\u{1b}[2Jline');
    expect(out).toMatch(/^203\.0\.113\.7 +3 +1 +2 +3 +3$/m);
  });

  it('takes the trusted proxies as a list, with or without spaces', async () => {
    const line = { time: 1_795_651_200, ip: '192.0.2.1', xff: '203.0.113.7, 10.0.0.2' };
    const proxied = file('proxied.jsonl', linesOf(JSON.stringify(line)));
    for (const proxies of ['192.0.2.1,10.0.0.2', '192.0.2.1, 10.0.0.2', '2']) {
      const fields = ['--fields', 'http_x_forwarded_for=xff', '--trust-proxy', proxies];
      const { out } = await spillway(proxied, '--policy', policy, ...fields);
      expect(out).toMatch(/^203\.0\.113\.7 /m);
    }
  });

  it('says how to name the format of a log that it could not read', async () => {
    const { out } = await spillway(file('junk.log', 'what\nis\nthis\n'), '--policy', policy);
    expect(out).toMatch(/^0 requests of 1 log\.$/m);
    expect(out).toContain('junk.log could be read. Name its format with --format');
  });

  it('prints JSON', async () => {
    const { out } = await spillway(log, '--policy', policy, '--compare', other, '--json');
    expect(JSON.parse(out)).toMatchObject({
      requests: 4,
      unparsed: 1,
      outOfOrder: 1,
      policy: { limiters: [{ name: 'per-address', judged: true }] },
      compare: { newlyHit: 0, policy: { rejected: { high: 2 } } },
    });
  });

  it('lists more callers than a function takes arguments', () => {
    const rows = new Array<string[]>(200_000).fill(['203.0.113.7', '1']);
    expect(table(['CALLER', 'REQUESTS'], rows)).toMatch(/^203\.0\.113\.7 {2}1$/m);
  });

  it('writes a page', async () => {
    const html = join(folder, 'report.html');
    expect((await spillway(log, '--policy', policy, '--html', html)).code).toBe(0);
    expect(readFileSync(html, 'utf8')).toContain('<title>spillway replay</title>');
  });

  it.each([
    ['a policy that is not there', [log, '--policy', 'no-such.js'], 'cannot load the policy'],
    [
      'a policy whose folder lacks a package',
      [log, '--policy', alone],
      'npm install @spillway/none',
    ],
    [
      'a CommonJS policy whose folder lacks a package, in one line',
      [log, '--policy', required],
      "Cannot find module '@spillway/none/inner'. In its folder, run: npm install @spillway/none\n",
    ],
    ['a policy that throws', [log, '--policy', thrown], 'REDIS_URL is missing'],
    [
      'a policy that throws an error whose message is no text',
      [log, '--policy', file('odd.js', 'throw Object.assign(new Error(), { message: { a: 1 } })')],
      'odd.js: { a: 1 }\n',
    ],
    ['a policy without a default export', [log, '--policy', file('none.js', '')], 'must export'],
    ['what is no limiter', [log, '--policy', file('junk.js', 'export default {}')], 'rateLimit()'],
    ['no policy', [log], '--policy'],
    ['a log that is not there', ['no.log', '--policy', policy], 'cannot read the log'],
    [
      'a share that is no number',
      [log, '--policy', policy, '--max-rejected', 'x'],
      '--max-rejected must be like 1% or 0.01, got x',
    ],
    ['a share above 1', [log, '--policy', policy, '--max-rejected', '2'], 'maxRejected must be'],
    [
      'no number of callers',
      [log, '--policy', policy, '--max-callers', ''],
      '--max-callers must be a number such as 10, got ',
    ],
    ['a wrong number to list', [log, '--policy', policy, '--top', 'all'], '--top must be a number'],
    ['a wrong map', [log, '--policy', policy, '--fields', 'time'], '--fields must be like'],
  ])('refuses %s', async (_, args, sentence) => {
    const { code, err } = await spillway(...args);
    expect(code).toBe(2);
    expect(err).toContain(sentence);
  });
});

it('prints what a guard throws, even if its message is no text', async () => {
  const guard = `export default {
    admit: true,
    withOptions() { throw Object.assign(new Error(), { message: 42 }); },
  }`;
  const { code, err } = await spillway(log, '--policy', file('odd-guard.js', guard));
  expect({ code, err }).toEqual({ code: 1, err: 'error: 42\n' });
});

it('prints the report although the page cannot be written', async () => {
  const { code, out, err } = await spillway(log, '--policy', policy, '--html', folder);
  expect(code).toBe(2);
  expect(out).toContain('It would have rejected 1 of 4 requests');
  expect(err).toContain('cannot write the page');
});

describe('the page', () => {
  const hostile = '<script>alert("1")</script>&\u0000\u202e';

  it('has no script, loads nothing, and forbids both', async () => {
    const options = { policy: perMinute(2), compare: perMinute(1) };
    const page = reportHtml(await replayed([combined(0), combined(0), combined(0)], options));
    expect(page).toMatch(/default-src 'none'; style-src 'sha256-[\w+/]+=*'/);
    expect(page).not.toMatch(/<script|https?:|style=|\son\w+=|@import|url\(/);
    expect(page.match(/<svg/g)).toHaveLength(4);
    expect(page).toContain('It would have rejected 1 of 3 requests');
  });

  it('shows what clients sent as text', async () => {
    const line = `${combined(0).replace('203.0.113.7', hostile)}`;
    const page = reportHtml(await replayed([line, `${hostile} no request`, line]));
    expect(page).toContain(
      '&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#38;&#65533;&#65533;',
    );
    expect(page).not.toContain('<script');
  });
});

describe('the progress bar', () => {
  it('is drawn ten times a second on a terminal, and removed', () => {
    const written: string[] = [];
    let nowMs = 0;
    const terminal = { isTTY: true, write: (text: string) => written.push(text) };
    const bar = progressBar(terminal, () => nowMs);
    bar.show({ bytes: 50, size: 100, requests: 1_234 });
    nowMs = 99;
    bar.show({ bytes: 60, size: 100, requests: 2_000 });
    nowMs = 100;
    bar.show({ bytes: 3_000_000, size: undefined, requests: 3_000 });
    bar.end();
    expect(written).toEqual([
      `\r\u001b[K[${'#'.repeat(15)}${'.'.repeat(15)}] 50 %, 1,234 requests`,
      '\r\u001b[K3 MB, 3,000 requests',
      '\r\u001b[K',
    ]);
  });

  it('is not drawn where nobody looks', () => {
    const write = vi.fn();
    const bar = progressBar({ write });
    bar.show({ bytes: 1, size: 1, requests: 1 });
    bar.end();
    expect(write).not.toHaveBeenCalled();
  });
});
