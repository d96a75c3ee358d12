/** Logs mistakes in how an app is put together. Each line comes once, for such a mistake is there at every request. */

import { helpFor, type SpillwayErrorCode } from '../base/errors.js';
import type { Logger } from '../base/host.js';
import { consoleLogger } from '../base/host.js';

/** Logs mistakes around one guard that fail no request; for adapters. */
export class Notices {
  private readonly logger: Logger | false;
  private readonly logged = new Set<SpillwayErrorCode>();

  /** @param options those of the guard, of which `logger` counts */
  constructor({ logger = consoleLogger() }: { readonly logger?: Logger | false | undefined }) {
    this.logger = logger;
  }

  /** Logs what is wrong in one line, the first time that `code` comes. Never throws. */
  tell(code: SpillwayErrorCode, message: () => string): void {
    if (!this.logger || this.logged.has(code)) return;
    this.logged.add(code);
    try {
      this.logger.warn(`Spillway: ${message()}. See ${helpFor(code)}`);
    } catch {
      // A logger that fails must not fail a request.
    }
  }
}
