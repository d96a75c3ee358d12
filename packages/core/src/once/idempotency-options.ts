import { checkFlag, checkList, checkOptions } from '../base/check-shapes.js';
import {
  checkCallback,
  checkName,
  durationBetween,
  integerBetween,
  oneOf,
} from '../base/checks.js';
import type { Duration } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import type { HintOptions } from '../base/hint.js';
import type { NamesOf } from '../base/option-names.js';
import type { Mode } from '../contract/decision.js';
import type { Header, LimitRequest, Per } from '../contract/request.js';
import { FREE_ON, isKeepable, isToken } from './stored-response.js';

/** The response of a handler, as passed to `keepIf`. */
export interface FinalResponse {
  readonly status: number;
  /** The headers that would be stored. */
  readonly fields: readonly Header[];
}

type MayBeLater<T> = T | PromiseLike<T>;

export interface IdempotencyOptions<Raw = unknown> extends HintOptions {
  /**
   * The caller, identified by your authentication; may be async. Keys of different callers never match. If the function
   * fails or returns no string of 1 to 8,192 UTF-16 units, the request gets a 503, or with `onStoreError: 'allow'` runs
   * unprotected.
   */
  readonly scope: (request: LimitRequest<Raw>) => MayBeLater<string | undefined>;
  /** Name in the store, metrics and problem bodies: 1 to 64 printable ASCII characters. Default `'once'`. */
  readonly name?: string | undefined;
  /** The header with the key. Default `'Idempotency-Key'`. */
  readonly header?: string | undefined;
  /** The request methods to protect, in upper case. Default `['POST', 'PATCH']`. */
  readonly methods?: readonly string[] | undefined;
  /** Whether requests without a key get a 400, if their method is in `methods`. Default false. */
  readonly required?: boolean | undefined;
  /**
   * How long a key stays taken after the process that runs its request crashed: 1 s to 24 h. A running process renews
   * its claim to the key. Default `'30s'`.
   */
  readonly lease?: Duration | undefined;
  /** The longest time for which a claim is renewed, from `lease` to 24 h. Default: ten times `lease`, at most 24 h. */
  readonly maxRun?: Duration | undefined;
  /** How long a response is stored, 1 s to 400 days. Default `'24h'`. Document it for your clients. */
  readonly keep?: Duration | undefined;
  /** Whether response bodies are stored. If not, a retry gets a 409, unless the body was empty. Default true. */
  readonly keepBody?: boolean | undefined;
  /** Whether a response ends only after the attempt to store it has ended. Default false. */
  readonly keepFirst?: boolean | undefined;
  /**
   * Called with a response that would be stored. If it returns `false`, the key is freed, and a retry runs the handler.
   * Must be synchronous.
   */
  readonly keepIf?:
    | ((answer: FinalResponse, request: LimitRequest<Raw>) => boolean | undefined)
    | undefined;
  /**
   * Statuses from 400 to 599 that mean that nothing was done: the key is freed, and a retry runs the handler. Default
   * `[408, 425, 429, 503]`. Omit a status that a timeout in your app sends while the handler continues.
   */
  readonly freeOn?: readonly number[] | undefined;
  /** The largest response body to store, in bytes, 0 to 1,000,000. Default 65,536. */
  readonly maxBody?: number | undefined;
  /**
   * Names of response headers to store as well. Not allowed: `Set-Cookie`, `Date`, `Retry-After`, `Content-Length`,
   * `Idempotency-Replayed`, and headers of rate limits or connections.
   */
  readonly keepHeaders?: readonly string[] | undefined;
  /**
   * Returns the value to compare instead of the body, such as a few members of it; may be async. If the function fails,
   * or returns undefined or an incomparable value such as a Blob, the body is compared.
   */
  readonly fingerprint?: ((request: LimitRequest<Raw>) => unknown) | undefined;
  /**
   * Whether a request to another host is a different request. Default true. If false, and hosts identify tenants,
   * `scope` must include the tenant.
   */
  readonly compareHost?: boolean | undefined;
  /** The status for a key that was used for a different request. Default 422. */
  readonly mismatchStatus?: 409 | 422 | undefined;
  /**
   * How long a retry waits while the first request is running, up to `'60s'`. Default 0: the retry gets a 409 at once.
   * In each guard of a process, at most 32 retries wait for one key.
   */
  readonly wait?: Duration | undefined;
  /** `enforce` (default), `shadow` (runs every request, counts possible replays) or `off`. */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * When the store cannot answer, `deny` (default) rejects requests with a key (503), and `allow` runs them, possibly a
   * second time. A retry of a completed request always gets 503 if its response can't be read.
   */
  readonly onStoreError?: 'deny' | 'allow' | undefined;
}

export interface Settings<Raw> {
  readonly name: string;
  readonly header: string;
  readonly methods: ReadonlySet<string>;
  readonly required: boolean;
  readonly leaseUs: number;
  readonly maxRunMs: number;
  readonly keepUs: number;
  readonly keepBody: boolean;
  readonly keepFirst: boolean;
  readonly keepIf: IdempotencyOptions<Raw>['keepIf'];
  readonly freeOn: ReadonlySet<number>;
  readonly maxBody: number;
  readonly fields: readonly string[];
  readonly comparesHost: boolean;
  readonly mismatchStatus: number;
  readonly waitUs: number;
  readonly onStoreError: 'deny' | 'allow';
}

const NAMES: NamesOf<IdempotencyOptions> = {
  scope: 1,
  name: 1,
  header: 1,
  methods: 1,
  required: 1,
  lease: 1,
  maxRun: 1,
  keep: 1,
  keepBody: 1,
  keepFirst: 1,
  keepIf: 1,
  freeOn: 1,
  maxBody: 1,
  keepHeaders: 1,
  fingerprint: 1,
  compareHost: 1,
  mismatchStatus: 1,
  wait: 1,
  mode: 1,
  onStoreError: 1,
  retryAfter: 1,
  random: 1,
};

function scopeMissing(scope: unknown): Error {
  return mustBe('scope', 'a function that names the caller', scope, 'SPW_SCOPE_INVALID');
}

export function settingsOf<Raw>(options: IdempotencyOptions<Raw>): Settings<Raw> {
  if (options === undefined) throw scopeMissing(options);
  checkOptions(options, 'idempotency()', NAMES);
  const { scope, header = 'Idempotency-Key' } = options;
  if (typeof scope !== 'function') throw scopeMissing(scope);
  if (!isToken(header)) throw mustBe('header', 'a header name', header);
  for (const flag of ['required', 'keepBody', 'keepFirst', 'compareHost'] as const) {
    checkFlag(flag, options[flag]);
  }
  checkCallback('keepIf', options.keepIf);
  checkCallback('fingerprint', options.fingerprint);
  const leaseUs = durationBetween('lease', options.lease ?? '30s', '1s', '24h');
  const leaseMs = leaseUs / 1000;
  const maxRun = options.maxRun ?? Math.min(10 * leaseMs, 86_400_000);
  return {
    name: checkName(options.name ?? 'once'),
    header: header.toLowerCase(),
    methods: methodsOf(options),
    required: options.required ?? false,
    leaseUs,
    maxRunMs: durationBetween('maxRun', maxRun, leaseMs, '24h') / 1000,
    keepUs: durationBetween('keep', options.keep ?? '24h', '1s', '400d'),
    keepBody: options.keepBody ?? true,
    keepFirst: options.keepFirst ?? false,
    keepIf: options.keepIf,
    freeOn: freeOnOf(options),
    maxBody: integerBetween('maxBody', options.maxBody ?? 65_536, 0, 1_000_000),
    fields: fieldsOf(options),
    comparesHost: options.compareHost ?? true,
    mismatchStatus: oneOf('mismatchStatus', options.mismatchStatus, [409, 422]) ?? 422,
    waitUs: durationBetween('wait', options.wait ?? 0, 0, '60s'),
    onStoreError: oneOf('onStoreError', options.onStoreError, ['deny', 'allow']) ?? 'deny',
  };
}

function methodsOf<Raw>({ methods = ['POST', 'PATCH'] }: IdempotencyOptions<Raw>): Set<string> {
  checkList('methods', methods, 'methods');
  if (methods.length === 0) throw mustBe('methods', 'a list of at least one method', methods);
  for (const method of methods) {
    if (isToken(method) && method === method.toUpperCase()) continue;
    throw mustBe('each of methods', 'a method in upper case', method);
  }
  return new Set(methods);
}

function freeOnOf<Raw>({ freeOn = FREE_ON }: IdempotencyOptions<Raw>): Set<number> {
  checkList('freeOn', freeOn, 'statuses');
  for (const status of freeOn) integerBetween('each of freeOn', status, 400, 599);
  return new Set(freeOn);
}

function fieldsOf<Raw>({ keepHeaders = [] }: IdempotencyOptions<Raw>): readonly string[] {
  checkList('keepHeaders', keepHeaders, 'header names');
  for (const name of keepHeaders) {
    if (!isKeepable(name))
      throw mustBe('each of keepHeaders', 'the name of a header that can be kept', name);
  }
  return keepHeaders;
}
