/** A request's path through a guard: decided, passed or answered, and remembered for its handlers. */

import { checkCallback } from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import type { Admission } from '../contract/admission.js';
import type { Keeping, StoredExchange } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { ResponseEnd } from '../contract/limiter-turn.js';
import type { Recorder, Recorders, StoredResponse } from '../contract/recorder.js';
import type { LimitRequest } from '../contract/request.js';
import { checkGuardOptions } from '../guard/check.js';
import { ListGuard } from '../guard/guard.js';
import { countedTwice, type GuardAdmission } from '../guard/guard-admission.js';
import type { Guard, GuardOptions } from '../guard/guard-options.js';
import { setFields } from '../http/fields.js';
import type { AddressOptions } from '../net/client.js';
import type { Notices } from '../observe/notices.js';

/** Called once when a response has closed. If the store answers later, returns a promise, which never rejects. */
export type OnClosed = (outcome: ResponseEnd) => Promise<void> | undefined;

/**
 * One request and its response, as a {@link Gate} uses them. Adapters make an exchange for each request. If a method
 * throws, the gate reports a fault and the request passes. But if `recorder` throws for a retry of a finished request,
 * the retry is rejected.
 */
export interface Exchange {
  /**
   * Called before the admission is applied to the response, so that an adapter can pass it to handlers in its
   * framework's way. If the guard runs again for the same request, this is called again with the first admission.
   */
  decided?(admission: Admission): void;
  /**
   * Whether the response is no longer needed: the client disconnected, or other code has ended it. Called only if the
   * guard had to wait: for the store, a callback, or a running request with the same idempotency key.
   */
  isGone(): boolean;
  /**
   * Calls `closed` once when the response has closed: sent, failed or aborted. Without a connection (Lambda adapters,
   * tests of handlers), calls it when the response has finished, or at once if it already has. `aborted` is true if the
   * client disconnected first. `status` is omitted unless the status line was sent. Called only if the admission is
   * {@link Admission.pending}.
   */
  onClosed(closed: OnClosed): void;
  /** The value of a response header that is already set; undefined, null or '' if there is none. */
  getHeader(name: string): unknown;
  /**
   * Sets a response header, replacing one of the same name. Does nothing once the headers were sent. The gate sets all
   * headers of the admission except `Content-Type`, which belongs to the body of a rejection.
   */
  setHeader(name: string, value: string): void;
  /**
   * Sends the status and the body of a rejection, with `PROBLEM_TYPE` as its `Content-Type`; the other headers are
   * already set.
   *
   * If the app sends a custom response, the adapter only stores `admission` here. It runs the app's code when the gate
   * returns `rejected`, because exceptions in this method count as faults of the adapter.
   */
  reject(admission: Admission): void;
  /**
   * Shows the request's body and the handler's response to a guard with `idempotency()`. Called at most once per
   * request with an idempotency key, before its handler runs or it is answered. Omit it if the framework cannot do
   * that. A guard with `idempotency()` then throws.
   *
   * @param recorders creates recorders for node:http and fetch
   */
  recorder?(recorders: Recorders): Recorder;
  /** Sends a stored response, for guards with `idempotency()`. The headers of the admission are already set. */
  replay?(answer: StoredResponse): void;
}

/** The options of every gate. */
export type GateOptions<Raw = unknown> = GuardOptions<Raw> & AddressOptions;

/** A list of the names of an adapter's additional options. It does not compile if a name is missing. */
export type OwnNames<Options> = NamesOf<Omit<Options, keyof GateOptions>>;

const ADDRESS_OPTIONS: NamesOf<AddressOptions> = { trustProxy: 1, ipv6Prefix: 1 };

function extraNames(own: object): object {
  return { ...ADDRESS_OPTIONS, ...own };
}

/**
 * Checks options as a gate does, for adapters that create their gates later or not at all.
 *
 * @param own the names of the adapter's additional options
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkGateOptions<Raw>(
  options: GateOptions<Raw> & { readonly onRejected?: unknown },
  own: object,
): void {
  checkGuardOptions(options, extraNames(own));
  checkCallback('onRejected', options.onRejected);
}

/**
 * What an adapter does next:
 * - `pass`: let the request continue
 * - `gone`: nothing, because the client has disconnected or other code has ended the response
 * - `rejected`: nothing, because the rejection was sent; or send the app's custom response
 * - `answered`: nothing, because a stored response was replayed
 */
export type Passage = 'pass' | 'gone' | 'rejected' | 'answered';

/** A request as an adapter passes it to a {@link Gate}. */
export interface GateRequest<Raw> extends LimitRequest<Raw> {
  /**
   * Called with the admission before the gate applies it. If an enforcing limiter needed the client address, and the
   * app never configured how to find it, this method releases the admission and throws. `AddressedRequest` implements
   * it.
   */
  checkAddress?(admission: Admission): void;
}

/**
 * A guard with everything that adapters have in common. An adapter creates one from its user's limiters and options.
 * For each request it creates a {@link LimitRequest} and an {@link Exchange}, and follows the result of `enter`.
 */
export class Gate<Raw> {
  /** Logs each warning about a probable mistake in the app once. */
  readonly notices: Notices;
  private readonly guard: ListGuard<Raw>;

  /**
   * @param own the names of the adapter's additional options; unknown options are rejected
   * @throws SpillwayError `SPW_OPTION_INVALID`, and as `createGuard`
   */
  constructor(
    limiters: Limiter<Raw> | readonly Limiter<Raw>[],
    options: GateOptions<Raw> & { readonly onRejected?: unknown },
    own: object = {},
  ) {
    this.guard = new ListGuard(limiters, options, extraNames(own));
    this.notices = this.guard.parts.notices;
    checkCallback('onRejected', options.onRejected);
  }

  /**
   * Decides on a request, once for each `holder`, and applies the decision to the exchange. Returns a promise only if
   * the store, a callback or an `idempotency()` does. If the guard throws, a fault is reported and the request passes;
   * for errors of the exchange, see {@link Exchange}.
   *
   * @param holder the object by which `admissionsOf` finds the admission, usually the framework's request
   * @throws SpillwayError `SPW_ADDRESS_REQUIRED`, from `checkAddress` of the request; or the promise rejects with it.
   * `SPW_CAPTURE_MISSING`, if the guard has an `idempotency()` and the exchange has no `recorder` or `replay`
   */
  enter(request: GateRequest<Raw>, exchange: Exchange, holder: object): Passage | Promise<Passage> {
    let earlier: readonly Admission[] | undefined;
    try {
      earlier = Object.hasOwn(holder, ADMISSIONS) ? (holder as Holder)[ADMISSIONS] : undefined;
      const before = earlier?.find(({ guard }) => guard === this.guard);
      if (before) {
        const names = before.decisions.map(({ limiter }) => limiter).join(', ');
        this.notices.tell(
          'SPW_REGISTERED_TWICE',
          `the guard of ${names} is mounted twice for one request, which was counted once: mount it once`,
          names,
        );
        exchange.decided?.(before);
        return finish(before, exchange);
      }
    } catch (error) {
      return this.excuse(error);
    }
    return earlier
      ? this.decideBeside(request, exchange, holder)
      : this.decide(request, exchange, holder);
  }

  /**
   * Like {@link enter}, but decides on every call. Use it if a holder stands for several calls, such as the HTTP
   * request of a GraphQL operation with several resolvers.
   *
   * @throws SpillwayError as `enter`
   */
  decide(
    request: GateRequest<Raw>,
    exchange: Exchange,
    holder: object,
  ): Passage | Promise<Passage> {
    const { keeping } = this.guard.parts;
    const seen = keeping && this.see(exchange, holder, keeping);
    let asked: ReturnType<ListGuard<Raw>['admit']>;
    try {
      asked = this.guard.admit(request, seen);
    } catch (error) {
      return this.excuse(error);
    }
    if (!isLater(asked)) {
      return this.applyAdmission(asked, request, exchange, holder, seen, false);
    }
    return asked.then(
      (admission) => this.applyAdmission(admission, request, exchange, holder, seen, true),
      (error) => this.excuse(error),
    );
  }

  /**
   * Turns on the warning about a guard that receives no requests. Call it for guards that apps mount themselves, and
   * not if the framework runs the guard for every route.
   */
  expectRequests(): this {
    this.guard.parts.presence.expect();
    return this;
  }

  /** Reports a fault of the adapter, which belongs to no limiter, to `onFault` and the observers, or logs it. */
  readonly report = (error: unknown): void =>
    this.guard.parts.context.fault({ limiter: '', source: 'adapter', error });

  /** The number of permits held now. */
  get inProgress(): number {
    return this.guard.inProgress;
  }

  /** Releases the permits of all requests in flight. */
  close(): Promise<void> {
    return this.guard.close();
  }

  private decideBeside(
    request: GateRequest<Raw>,
    exchange: Exchange,
    holder: object,
  ): Passage | Promise<Passage> {
    const passage = this.decide(request, exchange, holder);
    if (!this.notices.reports('SPW_COUNTED_TWICE')) return passage;
    const told = (value: Passage): Passage => {
      const all = admissionsOf(holder);
      const last = all.at(-1) as Admission;
      for (const other of all.slice(0, -1)) {
        const name = countedTwice(other, last);
        if (name === undefined) continue;
        this.notices.tell(
          'SPW_COUNTED_TWICE',
          `limiter "${name}" is in two guards that see the same request, and both charge the same count: remove it from one of them, or give the limits different names`,
          name,
        );
      }
      return value;
    };
    return isLater(passage) ? passage.then(told) : told(passage);
  }

  private applyAdmission(
    admission: GuardAdmission<Raw>,
    request: GateRequest<Raw>,
    exchange: Exchange,
    holder: object,
    seen: StoredExchange | undefined,
    waited: boolean,
  ): Passage | Promise<Passage> {
    request.checkAddress?.(admission);
    this.remember(admission, holder);
    let isWatched = !admission.pending; // nothing to release: no need to watch
    try {
      exchange.decided?.(admission);
      if (waited && exchange.isGone()) {
        admission.release({ aborted: true, unhandled: true });
        return 'gone';
      }
      if (!isWatched) exchange.onClosed((outcome) => admission.release(outcome));
      isWatched = true;
      setFields(admission.headers, exchange, 'Content-Type'); // belongs to the body of a rejection
      const begun = seen && admission.allowed ? admission.beginKeeping(seen) : undefined;
      if (begun) return begun.then(() => 'pass');
      return finish(admission, exchange);
    } catch (error) {
      if (!isWatched) admission.release({}); // onClosed was not registered
      return this.excuse(error);
    }
  }

  private see(exchange: Exchange, holder: object, keeping: Keeping<Raw>): StoredExchange {
    if (exchange.recorder && exchange.replay) return keeping.see(exchange, holder);
    throw new SpillwayError(
      'SPW_CAPTURE_MISSING',
      'this adapter does not show responses, so it cannot store them for idempotency()',
    );
  }

  // A holder that cannot be marked, such as a frozen request, does not disable the limit.
  private remember(admission: Admission, holder: Holder): void {
    try {
      // Uses `hasOwn`, because reading a missing property would search the prototypes of the framework's request, which
      // takes as long as a decision.
      if (Object.hasOwn(holder, ADMISSIONS)) holder[ADMISSIONS]?.push(admission);
      // Enumerable, because `defineProperty` would cost as much as the decision.
      else holder[ADMISSIONS] = [admission];
    } catch (error) {
      this.excuse(error);
    }
  }

  private excuse(error: unknown): Passage {
    this.report(error);
    return 'pass';
  }
}

function finish(admission: Admission, exchange: Exchange): Passage {
  if (admission.allowed) return 'pass';
  if (admission.replay) {
    exchange.replay?.(admission.replay);
    return 'answered';
  }
  exchange.reject(admission);
  return 'rejected';
}

// The admissions of a request are stored on its request object, for the handlers that run after its guards. The symbol
// is registered, because other copies of this package share it.
const ADMISSIONS = Symbol.for('spillway.admissions');

interface Holder {
  [ADMISSIONS]?: Admission[];
}

/**
 * The admissions of all guards that have run for a request, in order; empty if no guard has run. The adapter documents
 * which object stands for the request.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID` if `request` is not an object
 */
export function admissionsOf(request: object): readonly Admission[] {
  if (typeof request !== 'object' || !request) {
    throw mustBe('request', 'the object that the framework gives its handlers', request);
  }
  return (request as Holder)[ADMISSIONS] ?? [];
}

/** The members of a guard that server code needs. */
export type GuardHandle = Pick<Guard, 'close' | 'inProgress'>;

/** Adds `close` and `inProgress` of the guard to `handler`, for adapters. */
export function showGuard<Handler extends object>(
  handler: Handler,
  guard: GuardHandle,
): Handler & GuardHandle {
  return Object.defineProperties(handler, {
    close: { value: () => guard.close(), enumerable: true },
    inProgress: { get: () => guard.inProgress, enumerable: true },
  }) as Handler & GuardHandle;
}
