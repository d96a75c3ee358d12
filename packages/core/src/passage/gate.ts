/** The way of a request past a guard: the same steps in every HTTP world. */

import { checkCallback } from '../base/checks.js';
import { SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Keeping, KeptExchange } from '../contract/keeping.js';
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
 * What an adapter does next: let the request go on (`pass`); nothing, because its client is `gone`; or nothing because
 * it was `refused`, unless the app answers refusals itself; or nothing because it was `answered`, as the repeat of a
 * request whose answer was kept.
 */
export type Passage = 'pass' | 'gone' | 'refused' | 'answered';

/** A request as an adapter gives it to a {@link Gate}. */
export interface GateRequest<Raw> extends LimitRequest<Raw> {
  /**
   * Called with the admission before anything else is done with it. It throws if the app never said how to find the
   * client's address and an enforcing limiter needed it; then it has released the admission. `AddressedRequest` has it.
   */
  checkAddress?(admission: Admission): void;
}

/**
 * A guard and all that an adapter does around it. An adapter makes one from the limiters and the options of its user;
 * for each request it makes a {@link LimitRequest} and an {@link Exchange}, and does what `enter` says.
 */
export class Gate<Raw> {
  /** Told once of what is wrong with how the app is put together. */
  readonly notices: Notices;
  private readonly guard: ListGuard<Raw>;
  private readonly options: GateOptions<Raw>;

  /**
   * @param own the names of options that the adapter has beside those of every gate; others are refused
   * @throws SpillwayError `SPW_OPTION_INVALID`, and those of `createGuard`
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
   * Decides on a request, once for each `holder`, and applies the decision to the exchange; at once if the store
   * answers at once. An exception in here is told to `onFault`, and the request passes.
   *
   * @param holder the object for which `admissionsOf` gives the admission; most often the framework's request
   * @throws SpillwayError `SPW_ADDRESS_REQUIRED`, from `checkAddress` of the request; a promise rejects with it.
   * `SPW_CAPTURE_MISSING`, if the guard has an `idempotency()` and the exchange cannot show what it needs
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
   * As {@link enter}, but decides each time that it is called: where one holder stands for several calls, as the HTTP
   * request of a GraphQL operation does.
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
      : this.apply(asked, request, exchange, holder, seen, false);
  }

  /** For apps that put the guard on the way of requests by hand: a line tells if none reaches it. */
  expectRequests(): this {
    this.guard.expectRequests();
    return this;
  }

  /** Hands a fault that is of no single limiter to `onFault`, or logs it. */
  readonly report = (error: unknown): void => {
    const { onFault, logger } = this.options;
    tellFault(onFault, { limiter: '', source: 'adapter', error }, logger);
  };

  /** Permits held now. */
  get inProgress(): number {
    return this.guard.inProgress;
  }

  /** Gives back the permits of all requests still in progress. */
  close(): Promise<void> {
    return this.guard.close();
  }

  /** Decides on a request on which another guard has decided. */
  private decideBeside(
    request: GateRequest<Raw>,
    exchange: Exchange,
    holder: object,
  ): Passage | Promise<Passage> {
    const passage = this.decide(request, exchange, holder);
    if (!this.notices.hears('SPW_COUNTED_TWICE')) return passage;
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
    seen: KeptExchange | undefined,
  ): Promise<Passage> {
    let admission: GuardAdmission<Raw>;
    try {
      admission = await asked;
    } catch (error) {
      return this.excuse(error);
    }
    return this.apply(admission, request, exchange, holder, seen, true);
  }

  private apply(
    admission: GuardAdmission<Raw>,
    request: GateRequest<Raw>,
    exchange: Exchange,
    holder: object,
    seen: KeptExchange | undefined,
    waited: boolean,
  ): Passage | Promise<Passage> {
    request.checkAddress?.(admission);
    this.remember(admission, holder);
    let isWatched = !admission.pending; // or needs no watching
    try {
      exchange.decided?.(admission);
      if (waited && exchange.isGone()) {
        admission.release({ aborted: true });
        return 'gone';
      }
      if (!isWatched) exchange.onClosed((outcome) => admission.release(outcome));
      isWatched = true;
      setFields(admission.headers, exchange, 'Content-Type'); // that is of the refusal's body
      const begun = seen && admission.allowed ? admission.begin(seen) : undefined;
      if (begun) return begun.then(() => 'pass');
      return finish(admission, exchange);
    } catch (error) {
      if (!isWatched) admission.release({}); // nobody will call when the response has closed
      return this.excuse(error);
    }
  }

  private see(exchange: Exchange, holder: object, keeping: Keeping<Raw>): KeptExchange {
    if (exchange.recorder && exchange.replay) return keeping.see(exchange, holder);
    throw new SpillwayError(
      'SPW_CAPTURE_MISSING',
      'this adapter does not show responses, so that it cannot keep the answers of idempotency()',
    );
  }

  /** A holder that cannot be marked, such as a frozen request, is limited all the same. */
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
  return 'refused';
}
