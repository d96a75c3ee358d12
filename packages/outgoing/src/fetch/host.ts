/** What calls that go out take from their host, described: core is compiled without the types of any. */

import type { WebRequest, WebResponse, WebSignal } from '@spillway/core/fetch';

/** The `fetch` of whoever compiles against this, if that has one. */
export type HostFetch = typeof globalThis extends {
  fetch: (...args: infer Args) => Promise<infer Res>;
}
  ? (...args: Args) => Promise<Res>
  : (input: unknown, init?: WebInit) => Promise<WebResponse>;

/** The `Request` of whoever compiles against this, if that has one. */
export type HostRequest = typeof globalThis extends { Request: { prototype: infer Own } }
  ? Own
  : WebRequest;

/** What is needed of the second argument of `fetch`. */
export interface WebInit {
  readonly method?: string | undefined;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly signal?: WebSignal | null | undefined;
  readonly redirect?: 'error' | 'follow' | 'manual' | undefined;
  readonly integrity?: string | undefined;
}

interface Classes {
  readonly fetch: HostFetch;
  readonly Request: new (input: unknown, init?: WebInit) => HostRequest;
  readonly Headers: new (headers: object) => { delete(name: string): void };
  readonly URLSearchParams: new (params: object) => object;
  readonly FormData: new () => Iterable<readonly [string, unknown]> & {
    append(name: string, value: unknown): void;
  };
  readonly AbortSignal: {
    any(signals: readonly WebSignal[]): WebSignal;
    timeout(ms: number): WebSignal;
  };
}

/** The classes of the runtime; looked up when they are used, for frameworks and tests put their own in place. */
export function hostClasses(): Classes {
  return globalThis as unknown as Classes;
}
