import { checkCallback } from '../base/checks.js';
import { SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Keeping, StoredExchange } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { LimitRequest } from '../contract/request.js';
import { ListGuard } from '../guard/guard.js';
import type { GuardAdmission } from '../guard/guard-admission.js';
import { setFields } from '../http/fields.js';
import { tellFault } from '../observe/faults.js';
import type { Notices } from '../observe/notices.js';
import {
  admissionBefore,
  earlierAdmissions,
  noteCountedTwice,
  rememberAdmission,
} from './admissions.js';
import type { Exchange } from './exchange.js';
import { extraNames, type GateOptions } from './gate-options.js';

/**
 * What an adapter does next:
 * - `pass`: let the request continue
 * - `gone`: nothing, because the client has disconnected
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
  private readonly options: GateOptions<Raw>;

  /**
   * @param own the names of the adapter's additional options; unknown options are rejected
   * @throws SpillwayError `SPW_OPTION_INVALID`, and as `createGuard`
   */
  constructor(
    limiters: Limiter<Raw> | readonly Limiter<Raw>[],
    options: GateOptions<Raw> & { readonly onRejected?: unknown },
    own: object = {},
  ) {
    this.options = options;
    this.guard = new ListGuard(limiters, options, extraNames(own));
    this.notices = this.guard.notices;
    checkCallback('onRejected', options.onRejected);
  }

  /**
   * Decides on a request, once for each `holder`, and applies the decision to the exchange. Synchronous if the store
   * and all callbacks are. If the guard or the exchange throws, the fault goes to `onFault` and the request passes.
   *
   * @param holder the object by which `admissionsOf` finds the admission, usually the framework's request
   * @throws SpillwayError `SPW_ADDRESS_REQUIRED`, from `checkAddress` of the request; or the promise rejects with it.
   * `SPW_CAPTURE_MISSING`, if the guard has an `idempotency()` and the exchange has no `recorder` or `replay`
   */
  enter(request: GateRequest<Raw>, exchange: Exchange, holder: object): Passage | Promise<Passage> {
    let earlier: readonly Admission[] | undefined;
    try {
      earlier = earlierAdmissions(holder);
      const before = earlier && admissionBefore(earlier, this.guard, this.notices);
      if (before) {
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
    const { keeping } = this.guard;
    const seen = keeping && this.see(exchange, holder, keeping);
    let asked: ReturnType<ListGuard<Raw>['admit']>;
    try {
      asked = this.guard.admit(request, seen);
    } catch (error) {
      return this.excuse(error);
    }
    return isLater(asked)
      ? this.wait(asked, request, exchange, holder, seen)
      : this.applyAdmission(asked, request, exchange, holder, seen, false);
  }

  /** Turns on the warning about a guard that receives no requests. Call it for guards that apps mount themselves. */
  expectRequests(): this {
    this.guard.expectRequests();
    return this;
  }

  /** Passes a fault to `onFault`, or logs it. The fault belongs to no limiter. */
  readonly report = (error: unknown): void => {
    const { onFault, logger } = this.options;
    tellFault(onFault, { limiter: '', source: 'adapter', error }, logger);
  };

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
      noteCountedTwice(holder, this.notices);
      return value;
    };
    return isLater(passage) ? passage.then(told) : told(passage);
  }

  private async wait(
    asked: Promise<GuardAdmission<Raw>>,
    request: GateRequest<Raw>,
    exchange: Exchange,
    holder: object,
    seen: StoredExchange | undefined,
  ): Promise<Passage> {
    let admission: GuardAdmission<Raw>;
    try {
      admission = await asked;
    } catch (error) {
      return this.excuse(error);
    }
    return this.applyAdmission(admission, request, exchange, holder, seen, true);
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
        admission.release({ aborted: true });
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
  private remember(admission: Admission, holder: object): void {
    try {
      rememberAdmission(holder, admission);
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
