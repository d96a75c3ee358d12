/**
 * Finds the client's address on platforms that expose no socket. Only the app's options say where the address is.
 * Without `clientIp`, a request fails if a limiter in mode `enforce` needs the address.
 */

import { checkCallback } from '../base/checks.js';
import { SpillwayError } from '../base/errors.js';
import { Junk } from '../base/junk.js';
import type { Admission } from '../contract/admission.js';
import type { LimitRequest } from '../contract/request.js';
import {
  type Addressing,
  type AddressOptions,
  clientOf,
  compileAddressing,
} from '../net/client.js';
import type { Gate } from '../passage/gate.js';

/** How to find the client's address on platforms that expose no socket. */
export interface PeerOptions<Args extends readonly unknown[]> extends AddressOptions {
  /**
   * Returns the address of the peer: the client, or with `trustProxy` the last proxy. Without this option, a request
   * fails with `SPW_ADDRESS_REQUIRED` if a limiter in mode `enforce` needs the address.
   */
  readonly clientIp?: ((...args: Args) => string | null | undefined) | undefined;
}

/** Finds client addresses according to the app's options; for adapters. */
export class AddressFinder<Args extends readonly unknown[]> {
  readonly isConfigured: boolean;
  private readonly addressing: Addressing;
  private readonly clientIp: PeerOptions<Args>['clientIp'];
  private readonly report: (error: unknown) => void;

  /**
   * @param gate gets warnings about proxy headers, and a fault if `clientIp` throws, returns anything but a string,
   * null or undefined, or is missing although the address is read
   * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID`
   */
  constructor(options: PeerOptions<Args>, gate: Pick<Gate<never>, 'notices' | 'report'>) {
    this.clientIp = options.clientIp;
    this.report = gate.report;
    this.addressing = compileAddressing(options, gate.notices);
    checkCallback('clientIp', options.clientIp);
    this.isConfigured = options.clientIp !== undefined;
  }

  find(args: Args, request: Pick<LimitRequest, 'header'>): string | undefined {
    return clientOf(this.addressing, this.peer(args, this.report), request);
  }

  /** Like {@link find}, but without fault reports and warnings, and undefined without the option `clientIp`. */
  peek(args: Args, request: Pick<LimitRequest, 'header'>): string | undefined {
    if (!this.isConfigured) return undefined;
    const quiet = { ...this.addressing, watch: undefined };
    const peer = this.peer(args, () => undefined);
    return clientOf(quiet, peer, request);
  }

  tellMissing(): void {
    this.report(missingAddressError());
  }

  private peer(args: Args, report: (error: unknown) => void): string | undefined {
    try {
      const { clientIp } = this;
      const own: unknown = clientIp?.(...args) ?? undefined;
      if (own === undefined || typeof own === 'string') return own;
      throw new Junk('clientIp', own);
    } catch (error) {
      report(error);
      return undefined; // all clients with an unknown address share one count
    }
  }
}

/** A request that finds its client address on demand. Adapters extend this class for their frameworks. */
export abstract class AddressedRequest<Raw, Args extends readonly unknown[]>
  implements LimitRequest<Raw>
{
  abstract readonly raw: Raw;
  abstract readonly method: string;
  abstract readonly path: string;
  private address: string | undefined;
  private state: 'unasked' | 'found' | 'missing' = 'unasked';
  private needed = false;
  private readonly finder: AddressFinder<Args>;
  private readonly args: Args;

  constructor(finder: AddressFinder<Args>, args: Args) {
    this.finder = finder;
    this.args = args;
  }

  abstract header(name: string): string | undefined;

  get clientIp(): string | undefined {
    if (this.state === 'unasked') {
      this.state = this.finder.isConfigured ? 'found' : 'missing';
      if (this.finder.isConfigured) this.address = this.finder.find(this.args, this);
    }
    return this.address;
  }

  peekAddress(): string | undefined {
    return this.state === 'unasked' ? this.finder.peek(this.args, this) : this.address;
  }

  missesAddress(enforced: boolean): boolean {
    if (enforced) this.needed = true;
    return this.state === 'missing';
  }

  /**
   * Releases `admission` and throws if an enforcing limiter needed the address, but the option `clientIp` is missing.
   * If the address was read for another reason, reports a fault instead. Call this after the guard has decided, because
   * the guard catches an error that is thrown while a limiter runs.
   *
   * @throws SpillwayError `SPW_ADDRESS_REQUIRED`
   */
  checkAddress(admission: Admission): void {
    if (this.state !== 'missing') return;
    if (!this.needed) {
      this.finder.tellMissing();
      return;
    }
    admission.release({});
    throw missingAddressError();
  }
}

function missingAddressError(): SpillwayError {
  return new SpillwayError(
    'SPW_ADDRESS_REQUIRED',
    'clientIp is required for a limiter that counts by client address: write a function that returns the address on ' +
      'your platform, or give the limiter a key for every request; the address is never guessed from headers',
  );
}
