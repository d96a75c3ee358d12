/** The little that core takes from its host beside the clock, with what to do where it is missing. */

declare function setTimeout(callback: () => void, ms: number): unknown;
declare function clearTimeout(timer: unknown): void;

interface Hooks {
  readonly AsyncLocalStorage?: { snapshot?(): <Value>(call: () => Value) => Value };
}

interface BuiltIns {
  readonly process?: { getBuiltinModule?(name: string): unknown };
}

/**
 * Makes a call in the async context in which this module was loaded, where the host can. What lives longer than a
 * request is begun in it: a timer or a promise would keep the request's context, and all that this holds.
 */
export const outside: <Value>(call: () => Value) => Value =
  /* @__PURE__ */ contextNow() ?? ((call) => call());

function contextNow(): (<Value>(call: () => Value) => Value) | undefined {
  const { process } = globalThis as BuiltIns;
  try {
    const hooks = process?.getBuiltinModule?.('node:async_hooks') as Hooks | undefined;
    return hooks?.AsyncLocalStorage?.snapshot?.();
  } catch {
    return undefined;
  }
}

/** Calls back after a time, outside of any request's context; returns how to call it off. */
export function after(ms: number, callback: () => void): () => void {
  const timer = outside(() => setTimeout(callback, ms));
  return () => clearTimeout(timer);
}

/** {@link after}, but nothing stays alive for it, where the host can tell. */
export function afterIdly(ms: number, callback: () => void): () => void {
  const timer = outside(() => setTimeout(callback, ms));
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
}

/** Whether a timer ends with the request that set it, as on Cloudflare Workers. */
export function endsTimersWithRequests(): boolean {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}

/** Calls back once the input that has already arrived was handled: after the poll phase on Node, soon elsewhere. */
export function afterPendingInput(callback: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (callback: () => void) => unknown };
  if (setImmediate) setImmediate(callback);
  else setTimeout(callback, 0);
}

/** A value that comes now or later. */
export type Eventually<Value> = Value | Promise<Value>;

/** Whether a value that may come now or later comes later. */
export function isLater<T>(value: Eventually<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Whether anything at all is a promise, of whoever's making. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

/** Nobody waits for `value`: if it is a promise that rejects, that must not end the process. */
export function disregard(value: unknown): void {
  if (isThenable(value)) value.then(undefined, () => undefined);
}

/** Where outages are told. */
export interface Logger {
  /** Takes one line. */
  warn(message: string): void;
}

const toConsole = { warn: (message: string) => globalConsole()?.warn(message) };

/** The console, where there is one: always the same object, so that it can be told apart from others. */
export function consoleLogger(): Logger {
  return toConsole;
}

/** Writes a line to the console that is no warning. */
export function toConsoleLine(line: string): void {
  globalConsole()?.log(line);
}

/** A variable of the environment; undefined on Deno, which would ask its user for the permission to read it. */
export function environment(name: string): string | undefined {
  const { process, Deno } = globalThis as { process?: Process; Deno?: unknown };
  try {
    return Deno ? undefined : process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** What says that this process is one of several that do the same; undefined if nothing does. */
export function oneOfMany(): string | undefined {
  const { process } = globalThis as { process?: Process };
  if (environment('AWS_LAMBDA_FUNCTION_NAME')) return 'an instance of a Lambda function';
  if (Number(environment('NODE_APP_INSTANCE')) > 0) return 'one of several under PM2';
  // Only a child has a channel, and only there is it worth the 2 ms that loading node:cluster takes.
  const cluster = process?.send && process?.getBuiltinModule?.('node:cluster');
  return (cluster as { isWorker?: boolean } | undefined)?.isWorker
    ? 'a worker of node:cluster'
    : undefined;
}

/** Whether the console may show colours: it is a terminal, and its user has not set `NO_COLOR`. */
export function showsColors(): boolean {
  const { process } = globalThis as { process?: Process };
  try {
    return process?.stdout?.isTTY === true && !process?.env?.['NO_COLOR'];
  } catch {
    return false; // Deno lets nobody read the environment without permission
  }
}

interface Process {
  readonly stdout?: { readonly isTTY?: boolean };
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly send?: unknown;
  getBuiltinModule?(name: string): unknown;
}

interface Console {
  log(line: string): void;
  warn(message: string): void;
}

function globalConsole(): Console | undefined {
  return (globalThis as { console?: Console }).console;
}
