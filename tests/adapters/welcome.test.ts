/** What a demo prints at startup: its actual limits, commands to try, and an error if its port is in use. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { checkBuilt } from 'spillway-testkit/processes';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { demos } from './demos.js';

describe.each(demos.map((kind) => [kind.name, kind] as const))('%s', (_, kind) => {
  function start(env: Readonly<Record<string, string>>) {
    checkBuilt(kind.adapter);
    const [command, ...args] = kind.command();
    const child = spawn(command, args, { env: { ...process.env, ...kind.env, ...env } });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  it('says where it listens, which limits it has, what to try, and whom it refuses', async () => {
    const child = start({ PORT: '0', LIMIT: '7', WINDOW: '1h' });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
    const says = (text: string | RegExp) =>
      vi.waitFor(() => expect(said).toMatch(text), { timeout: 20_000, interval: 20 });
    await says('Each rejection prints a line here');
    const [, port] = /^Listening on port (\d+): /m.exec(said) ?? [];
    const limits = [...said.matchAll(/^ {2}(\S+) +(\d+) in 1h, .* +(enforce|shadow)$/gm)];
    expect(limits.map((row) => row.slice(1))).toEqual([
      ['per-address', '60', 'enforce'],
      ['trial', '1', 'shadow'],
      ['per-key', '7', 'enforce'],
    ]);

    await fetch(`http://localhost:${port}/`);
    const response = await fetch(`http://localhost:${port}/things`);
    await says(/ GET \/things +trial +.* would-deny: rate /);
    const policies = response.headers.get('ratelimit-policy') ?? '';
    const told = [...policies.matchAll(/"([^"]+)";q=(\d+);w=3600/g)].map((row) => row.slice(1));
    const enforced = limits.filter(([, , , mode]) => mode === 'enforce');
    expect(told.sort()).toEqual(enforced.map(([, name, limit]) => [name, limit]).sort());
  });

  it('says that its port is taken', async () => {
    const server = createServer().listen(0);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const child = start({ PORT: String(port) });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ said, code }).toEqual({
      said: expect.stringContaining(
        `Port ${port} is in use. Stop what listens there, or take another: PORT=${port + 1}\n`,
      ),
      code: 1,
    });
  });
});
