/** The options of `idempotency`, and what they come to. */

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
import { FREE_ON, isKeepable, isToken } from './kept-answer.js';

/** What `keepIf` is told of an answer. */
export interface FinalResponse {
  readonly status: number;
  /** The fields that would be kept. */
  readonly fields: readonly Header[];
}

type MayBeLater<T> = T | PromiseLike<T>;

/** Options of {@link idempotency}. */
export interface IdempotencyOptions<Raw = unknown> extends HintOptions {
  /**
   * Who sends the request: the caller whom you have authenticated, never what a request claims. Keys of different
   * callers never match. It may be async. A request for which it gives no text of 1 to 8,192 units, fails or is late,
   * is refused with 503, unless `onStoreError` is `allow`: nothing could be promised about it.
   */
  readonly scope: (request: LimitRequest<Raw>) => MayBeLater<string | undefined>;
  /** Identifies it in the store, metrics and problem bodies: 1 to 64 printable ASCII characters. Default `'once'`. */
  readonly name?: string | undefined;
  /** The field that has the key. Default `'Idempotency-Key'`. */
  readonly header?: string | undefined;
  /** The methods of requests that it concerns, upper case. Default `['POST', 'PATCH']`. */
  readonly methods?: readonly string[] | undefined;
  /** Whether a request of these methods without a key is refused (400). Default false: it runs as often as it comes. */
  readonly required?: boolean | undefined;
  /**
   * How long a claim is held if its process stops renewing it, 1 s to 24 h: after a crash the key is free again after
   * this time. A running process renews it. Default `'30s'`.
   */
  readonly lease?: Duration | undefined;
  /** How long a claim is renewed at most, from `lease` to 24 h. Default: ten leases. */
  readonly maxRun?: Duration | undefined;
  /** How long an answer is kept, 1 s to 400 days. Default `'24h'`. Tell your clients. */
  readonly keep?: Duration | undefined;
  /** Whether bodies are kept. Without one, a repeat gets a 409 that says that the request was done. Default true. */
  readonly keepBody?: boolean | undefined;
  /**
   * Whether a response ends only when its answer is kept, so that a client that has read it gets the same answer again.
   * Default no.
   */
  readonly keepFirst?: boolean | undefined;
  /**
   * Called for an answer that would be kept: `false` gives the key up instead, so that the request runs again. Use it
   * for answers of which you know that nothing was done. Must answer at once: a promise is a fault, and the answer is
   * kept.
   */
  readonly keepIf?:
    | ((answer: FinalResponse, request: LimitRequest<Raw>) => boolean | undefined)
    | undefined;
  /**
   * The statuses with which your app says that nothing was done: such an answer gives the key up, so that the request
   * runs again. Default `[408, 425, 429, 503]`. Leave out those that a timeout in your app answers with while the
   * handler goes on, or a repeat runs beside it; a guard's own refusals give the key up whatever stands here.
   */
  readonly freeOn?: readonly number[] | undefined;
  /** The most bytes of a body that is kept, 0 to 1,000,000. Default 65,536. */
  readonly maxBody?: number | undefined;
  /** Names of further response headers to keep. `Set-Cookie` and headers of one response only cannot be kept. */
  readonly keepHeaders?: readonly string[] | undefined;
  /**
   * What is compared in place of the body, such as a few of its members. Method, host, path, query, media type and
   * encodings are always compared. It is called when the request comes, and may be async. Where it gives undefined, the
   * body is compared; also where it fails, or gives what cannot be compared, such as a Blob. That is a fault.
   */
  readonly fingerprint?: ((request: LimitRequest<Raw>) => unknown) | undefined;
  /**
   * Whether the same request to another host (`Host`, `X-Forwarded-Host`) is another request. Default true, because
   * apps may tell tenants apart by their hosts. Set it to false if clients retry at another host of the same service;
   * then `scope` must hold the tenant.
   */
  readonly compareHost?: boolean | undefined;
  /** The status where a key was used for another request. Default 422. */
  readonly mismatchStatus?: 409 | 422 | undefined;
  /**
   * How long a repeat waits for a request that is running, up to `'60s'`. Default 0: it gets a 409 at once. In each
   * process 32 repeats of one key wait; more get the 409 at once.
   */
  readonly wait?: Duration | undefined;
  /** `enforce` (default), `shadow` (counts what would be repeated, and runs everything) or `off`. */
  readonly mode?: Per<Raw, Mode> | undefined;
  /**
   * What becomes of a request with a key when the store cannot answer: `deny` (default) refuses it with 503; `allow`
   * lets it run, perhaps a second time.
   */
  readonly onStoreError?: 'deny' | 'allow' | undefined;
}

/** The options with their defaults, in units of the code. */
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

/** @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`, `SPW_SCOPE_INVALID`, `SPW_NAME_INVALID` */
export function settingsOf<Raw>(options: IdempotencyOptions<Raw>): Settings<Raw> {
  // Its one required option, for who leaves all of them out.
  if (options === undefined) throw scopeMissing(options);
  checkOptions(options, 'idempotency()', NAMES);
  const { scope, header = 'Idempotency-Key', required, keepBody, keepFirst } = options;
  if (typeof scope !== 'function') {
    throw scopeMissing(scope);
  }
  if (!isToken(header)) throw mustBe('header', 'a field name', header);
  checkFlag('required', required);
  checkFlag('keepBody', keepBody);
  checkFlag('keepFirst', keepFirst);
  checkFlag('compareHost', options.compareHost);
  checkCallback('keepIf', options.keepIf);
  checkCallback('fingerprint', options.fingerprint);
  const leaseUs = durationBetween('lease', options.lease ?? '30s', '1s', '24h');
  const leaseMs = leaseUs / 1000;
  const maxRun = options.maxRun ?? Math.min(10 * leaseMs, 86_400_000);
  return {
    name: checkName(options.name ?? 'once'),
    header: header.toLowerCase(),
    methods: methodsOf(options),
    required: required ?? false,
    leaseUs,
    maxRunMs: durationBetween('maxRun', maxRun, leaseMs, '24h') / 1000,
    keepUs: durationBetween('keep', options.keep ?? '24h', '1s', '400d'),
    keepBody: keepBody ?? true,
    keepFirst: keepFirst ?? false,
    keepIf: options.keepIf,
    freeOn: freeOnOf(options),
    maxBody: integerBetween('maxBody', options.maxBody ?? 65_536, 0, 1_000_000),
    fields: fieldsOf(options),
    comparesHost: options.compareHost ?? true,
    mismatchStatus: mismatchOf(options),
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

function mismatchOf<Raw>({ mismatchStatus = 422 }: IdempotencyOptions<Raw>): number {
  if (mismatchStatus === 409 || mismatchStatus === 422) return mismatchStatus;
  throw mustBe('mismatchStatus', '409 or 422', mismatchStatus);
}
