/** The way of a node:http request past a guard, whatever framework is above it. */

import { isLater } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Limiter } from '../contract/limiter.js';
import type { LimitRequest } from '../contract/request.js';
import { createGuard } from '../guard/guard.js';
import type { Guard, GuardOptions } from '../guard/options.js';
import {
  isGone,
  type NodeRequest,
  type NodeResponse,
  releaseOnClose,
  writeHead,
} from '../node/response.js';
import { tellFault } from '../observe/faults.js';
import { Notices } from '../observe/notices.js';
import { admissionBefore, rememberAdmission } from './admissions.js';

/**
 * What is to be done with a request: `pass` it on; nothing, since its client is `gone`; or answer it with the refusal,
 * whose
 * status and fields are set.
 */
export type Passage = 'pass' | 'gone' | Admission;

export interface GateOptions<Raw> extends GuardOptions<Raw> {
  /** If there is one, the refusal's `Content-Type` is left to it. */
  readonly onRefused?: unknown | undefined;
}

/** A guard and what every adapter over node:http does around it; the answer to a refusal is left to the adapter. */
export class Gate<Raw> {
  /** Told of what is wrong with how the app is put together. */
  readonly notices: Notices;
  private readonly guard: Guard<Raw>;
  private readonly options: GateOptions<Raw>;

  /** @throws SpillwayError those of `createGuard` */
  constructor(limiters: Limiter<Raw> | readonly Limiter<Raw>[], options: GateOptions<Raw>) {
    this.options = options;
    this.guard = createGuard(limiters, options);
    this.notices = new Notices(options);
  }

  /**
   * Decides on a request, once for each `holder`; at once if the store answers at once. Never throws, never rejects:
   * what fails
   * in here is told to `onFault`, and the request passes.
   *
   * @param holder the object for which `admissionsOf` gives the admission
   */
  enter(
    request: LimitRequest<Raw>,
    req: NodeRequest,
    res: NodeResponse,
    holder: object,
  ): Passage | Promise<Passage> {
    try {
      const before = admissionBefore(holder, this.guard, this.notices);
      if (before) return before.allowed ? 'pass' : before;
      const asked = this.guard.admit(request);
      return isLater(asked)
        ? this.wait(asked, req, res, holder)
        : this.apply(asked, req, res, holder);
    } catch (error) {
      return this.excuse(error);
    }
  }

  /** Permits held now. */
  get inProgress(): number {
    return this.guard.inProgress;
  }

  /** Gives back the permits of all requests still in progress. */
  close(): Promise<void> {
    return this.guard.close();
  }

  private async wait(
    asked: Promise<Admission>,
    req: NodeRequest,
    res: NodeResponse,
    holder: object,
  ): Promise<Passage> {
    try {
      const admission = await asked;
      if (!isGone(req, res)) return this.apply(admission, req, res, holder);
      admission.release({ aborted: true });
      return 'gone';
    } catch (error) {
      return this.excuse(error);
    }
  }

  private apply(
    admission: Admission,
    req: NodeRequest,
    res: NodeResponse,
    holder: object,
  ): Passage {
    rememberAdmission(holder, admission);
    if (admission.pending) releaseOnClose(admission, req, res);
    writeHead(admission, res, this.options.onRefused === undefined);
    return admission.allowed ? 'pass' : admission;
  }

  private excuse(error: unknown): Passage {
    tellFault(this.options.onFault, { limiter: '', source: 'adapter', error }, this.options.logger);
    return 'pass';
  }
}
