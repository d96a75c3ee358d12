/** Runs the examples of a page as they are printed. Servers that listen on port 3000 there get a free port here. */

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ROOT } from 'spillway-testkit';
import { afterAll, onTestFinished, vi } from 'vitest';

interface Block {
  readonly heading: string;
  readonly language: string;
  readonly code: string;
}

/** The blocks of code of a page, each with the last heading before it. */
function blocksIn(page: string): Block[] {
  const blocks: Block[] = [];
  const parts = /^#+ (.+)$|^(`{3,})(\w+)[^\n]*\n([\s\S]*?)^\2$/gm;
  let heading = '';
  for (const [, title, , language, code] of readFileSync(join(ROOT, page), 'utf8').matchAll(
    parts,
  )) {
    if (title !== undefined) heading = title;
    else blocks.push({ heading, language: language ?? '', code: code ?? '' });
  }
  return blocks;
}

/**
 * The TypeScript or JavaScript block of `page` under `heading`; if there are several, the one that contains
 * `containing`.
 */
export function exampleOf(page: string, heading: string, containing = ''): string {
  const isIt = (block: Block): boolean =>
    block.heading === heading &&
    ['ts', 'js'].includes(block.language) &&
    block.code.includes(containing);
  const [first, ...others] = blocksIn(page).filter(isIt);
  if (!first || others.length > 0) {
    throw new Error(`${page} has ${first ? 'several examples' : 'no example'} under "${heading}"`);
  }
  return first.code;
}

/**
 * Makes a folder below `folder`, which is deleted after the test file. Returns a function that writes a file into it
 * and returns the file's path.
 */
export function workshop(folder: string): (name: string, code: string) => string {
  const dir = mkdtempSync(join(folder, '.snippets-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return (name, code) => {
    const file = join(dir, name);
    writeFileSync(file, code);
    return file;
  };
}

const write = workshop(import.meta.dirname);
let files = 0;

interface RunOptions {
  /** Values for the names that stand for the reader's own code. */
  readonly yours?: Readonly<Record<string, unknown>>;
  /** Texts to replace, such as addresses. */
  readonly replace?: Readonly<Record<string, string>>;
  /** Names of the example that the test uses. */
  readonly names?: readonly string[];
}

/** Runs an example. Returns the requested names and its exports. */
// biome-ignore lint/suspicious/noExplicitAny: what an example has, its own test knows
export async function runExample(code: string, options: RunOptions = {}): Promise<any> {
  const { yours = {}, replace = {}, names = [] } = options;
  for (const [name, value] of Object.entries(yours)) vi.stubGlobal(name, value);
  let text = code;
  for (const [from, to] of Object.entries(replace)) {
    if (!text.includes(from)) throw new Error(`the example has no ${from}`);
    text = text.replaceAll(from, to);
  }
  forgetSignalsAfterwards();
  const exported = names.length > 0 ? `export { ${names.join(', ')} };` : '';
  const file = write(`example-${files++}.ts`, `${text}\nexport {};\n${exported}\n`);
  return import(/* @vite-ignore */ file);
}

/** An example that has not listened after this time never will. */
const NEVER_MS = 10_000;

/** Removes the example's handlers of SIGTERM after the test, so this process does not run them. */
function forgetSignalsAfterwards(): void {
  const before = new Set(process.listeners('SIGTERM'));
  onTestFinished(() => {
    for (const listener of process.listeners('SIGTERM')) {
      if (!before.has(listener)) process.off('SIGTERM', listener);
    }
  });
}

type Ask = (path?: string, init?: RequestInit) => Promise<Response>;

export interface Service {
  readonly port: number;
  /** Sends a request; the body of the answer need not be read. */
  readonly ask: Ask;
  /** The statuses of `times` such requests, one after another. */
  statuses(times: number, path?: string, init?: RequestInit): Promise<number[]>;
}

/** Runs an example that listens on port 3000, until the end of the test. */
export async function serveExample(code: string, options?: RunOptions): Promise<Service> {
  const service = nextService();
  await runExample(code, options);
  const late = setTimeout(NEVER_MS, undefined, { ref: false });
  const served = await Promise.race([service, late]);
  if (!served) throw new Error('the example does not listen on port 3000');
  return served;
}

/** The next service that listens on port 3000 in this process. It gets a free port, until the end of the test. */
export async function nextService(): Promise<Service> {
  const listen = net.Server.prototype.listen;
  const server = await new Promise<net.Server>((resolve) => {
    const spy = vi.spyOn(net.Server.prototype, 'listen').mockImplementation(function (
      this: net.Server,
      ...args: unknown[]
    ) {
      const [first, ...rest] = args;
      const isObject = typeof first === 'object' && first !== null;
      const asked = isObject ? (first as { port?: unknown }).port : first;
      if (Number(asked) !== 3000) return Reflect.apply(listen, this, args);
      spy.mockRestore();
      resolve(this);
      return Reflect.apply(listen, this, [isObject ? { ...first, port: 0 } : 0, ...rest]);
    });
  });
  if (!server.listening) await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    (server as { closeAllConnections?: () => void }).closeAllConnections?.();
    vi.unstubAllGlobals();
  });
  return serviceAt((server.address() as AddressInfo).port);
}

export function serviceAt(port: number): Service {
  const ask: Ask = (path = '/', init) =>
    fetch(`http://localhost:${port}${path}`, { redirect: 'manual', ...init });
  return {
    port,
    ask,
    async statuses(times, path, init) {
      const statuses: number[] = [];
      for (let i = 0; i < times; i += 1) {
        const response = await ask(path, init);
        await response.arrayBuffer();
        statuses.push(response.status);
      }
      return statuses;
    },
  };
}

/** A POST of `body` as JSON. */
export function json(body: unknown, headers: Record<string, string> = {}): RequestInit {
  const type = { 'Content-Type': 'application/json' };
  return { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) };
}

/** `times` times `value`, as in "five times 200, then 429". */
export function repeat<Value>(times: number, value: Value): Value[] {
  return Array.from({ length: times }, () => value);
}
