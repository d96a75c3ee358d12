/** Lines about how an app is put together: each is told once, for it does not change from request to request. */

import { helpFor, type SpillwayErrorCode } from '../base/errors.js';
import type { Logger } from '../base/host.js';
import { consoleLogger } from '../base/host.js';

/** Tells the mistakes around one guard that fail no request; for adapters. */
export class Notices {
  private readonly logger: Logger | false;
  private readonly told = new Set<SpillwayErrorCode>();

  /** @param options those of the guard, of which `logger` is told */
  constructor({ logger = consoleLogger() }: { readonly logger?: Logger | false | undefined }) {
    this.logger = logger;
  }

  /** Tells in one line what is wrong, with its code, the first time that this code comes. Never throws. */
  tell(code: SpillwayErrorCode, message: () => string): void {
    if (!this.logger || this.told.has(code)) return;
    this.told.add(code);
    try {
      this.logger.warn(`Spillway: ${message()}. See ${helpFor(code)}`);
    } catch {
      // A logger that fails must not fail a request.
    }
  }
}
