/** The host's features that core uses, except the clock, with fallbacks for hosts without them. */

declare function setTimeout(callback: () => void, ms: number): unknown;
declare function clearTimeout(timer: unknown): void;

interface Hooks {
  readonly AsyncLocalStorage?: { snapshot?(): <Value>(call: () => Value) => Value };
}

/**
 * Runs `call` outside of any request's async context, if the host supports that. Timers and promises that outlive a
 * request need this, because they would otherwise keep the request's context in memory.
 */
export const outside: <Value>(call: () => Value) => Value =
  /* @__PURE__ */ contextNow() ?? ((call) => call());

function contextNow(): (<Value>(call: () => Value) => Value) | undefined {
  const { process } = globalThis as { process?: Process };
  try {
    const hooks = process?.getBuiltinModule?.('node:async_hooks') as Hooks | undefined;
    return hooks?.AsyncLocalStorage?.snapshot?.();
  } catch {
    return undefined;
  }
}

/** Calls back after a time, outside of any request's context. Returns a function that cancels the timer. */
export function after(ms: number, callback: () => void): () => void {
  const timer = outside(() => setTimeout(callback, ms));
  return () => clearTimeout(timer);
}

/** Like {@link after}, but the timer doesn't keep the process alive, if the host supports that. */
export function afterIdly(ms: number, callback: () => void): () => void {
  const timer = outside(() => setTimeout(callback, ms));
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
}

/** The `AbortSignal` type of the compiling project, if it has one. */
export type HostSignal = typeof globalThis extends { AbortSignal: { prototype: infer Own } }
  ? Own
  : { readonly aborted: boolean };

export function endsTimersWithRequests(): boolean {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}

/** Calls back after the input that has arrived was read: after the poll phase on Node, soon on other hosts. */
export function afterPendingInput(callback: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (callback: () => void) => unknown };
  if (setImmediate) setImmediate(callback);
  else setTimeout(callback, 0);
}

export type Eventually<Value> = Value | Promise<Value>;

export function isLater<T>(value: Eventually<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Whether the value is a promise or another object with a method `then`. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

/** Replaces null and undefined by `other`, also if a promise resolves to them. */
export function orElse<Own>(own: Own | PromiseLike<Own>, other: Own): Own | PromiseLike<Own> {
  return isThenable(own)
    ? (own as PromiseLike<Own>).then((value) => value ?? other)
    : (own ?? other);
}

/** If `value` is a promise, ignores its rejection, which would otherwise end the process. */
export function disregard(value: unknown): void {
  if (isThenable(value)) value.then(undefined, () => undefined);
}

/** Receives log lines. */
export interface Logger {
  warn(message: string): void;
}

const toConsole = { warn: (message: string) => globalConsole()?.warn(message) };

/** Always the same object, because repeated lines are suppressed per logger object. */
export function consoleLogger(): Logger {
  return toConsole;
}

export function toConsoleLine(line: string): void {
  globalConsole()?.log(line);
}

/** Undefined on Deno, where reading a variable would prompt the user for permission. */
export function environment(name: string): string | undefined {
  const { process, Deno } = globalThis as { process?: Process; Deno?: unknown };
  try {
    return Deno ? undefined : process?.env?.[name];
  } catch {
    return undefined;
  }
}

/** Describes this process, if it is probably one of several instances of the app. */
export function oneOfMany(): string | undefined {
  const { process } = globalThis as { process?: Process };
  if (environment('AWS_LAMBDA_FUNCTION_NAME')) return 'an instance of a Lambda function';
  if (Number(environment('NODE_APP_INSTANCE')) > 0) return 'one of several under PM2';
  // Loading node:cluster takes 2 ms, so do it only in a process that has an IPC channel.
  const cluster = process?.send && process?.getBuiltinModule?.('node:cluster');
  return (cluster as { isWorker?: boolean } | undefined)?.isWorker
    ? 'a worker of node:cluster'
    : undefined;
}

export function showsColors(): boolean {
  const { process } = globalThis as { process?: Process };
  try {
    return process?.stdout?.isTTY === true && !process?.env?.['NO_COLOR'];
  } catch {
    return false; // Deno throws without permission to read the environment
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

/** The units of work between two turns of the event loop. 512 units take a few milliseconds. */
const EVERY = 512;

interface Host {
  readonly setImmediate?: (callback: () => void) => unknown;
}

/** Captured at import, so fake timers that a test installs later don't replace it. */
const { setImmediate = (callback) => setTimeout(callback, 0) } = globalThis as Host;

/**
 * Lets the event loop run after every 512 units of work. Otherwise, a loop that only awaits settled promises would
 * block all timers and I/O. Work is counted instead of time, because the clock stands still on Workers.
 */
export class Turns {
  private left = EVERY;

  /**
   * Like {@link Turns.after}, for a value that is not a promise yet.
   *
   * @param units how much work the value took
   */
  soon<Value>(value: Value, units = 1): Promise<Value> {
    return this.after(Promise.resolve(value), units);
  }

  /** Returns a promise of the same value. Once in 512 units, it settles only after a turn of the event loop. */
  after<Value>(promise: Promise<Value>, units = 1): Promise<Value> {
    this.left -= units;
    if (this.left > 0) return promise;
    this.left = EVERY;
    return promise.finally(() => new Promise<void>((resolve) => setImmediate(resolve)));
  }
}
