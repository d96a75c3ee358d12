/** The client's address where no socket tells it: only what the app says counts, and who needs it must have said. */

import { checkCallback } from '../base/checks.js';
import { SpillwayError } from '../base/errors.js';
import type { Logger } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { Admission } from '../contract/admission.js';
import type { Fault } from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';
import {
  type Addressing,
  type AddressOptions,
  clientOf,
  compileAddressing,
} from '../net/client.js';
import { tellFault } from '../observe/faults.js';
import type { Notices } from '../observe/notices.js';

/** How the client's address is found where no socket tells it. */
export interface PeerOptions<Args extends readonly unknown[]> extends AddressOptions {
  /**
   * The address of the peer, from the request or from what the platform passes beside it: of the client, or of the last
   * proxy (then with `trustProxy`). Without it a limiter that enforces and needs the address makes its request fail
   * with `SPW_ADDRESS_REQUIRED`; one in shadow only tells `onFault`.
   */
  readonly clientIp?: ((...args: Args) => string | null | undefined) | undefined;
  /** Told when `clientIp` throws, returns a promise, or is missing. */
  readonly onFault?: ((fault: Fault) => void) | undefined;
  /** Told of that, once a minute, where there is no `onFault`. Default: the console. */
  readonly logger?: Logger | false | undefined;
}

/** Finds addresses as an app said; for adapters. */
export class AddressFinder<Args extends readonly unknown[]> {
  /** Whether the app said how the address is found. */
  readonly isConfigured: boolean;
  private readonly addressing: Addressing;
  private readonly options: PeerOptions<Args>;

  /**
   * @param notices those of the gate
   * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_TRUST_PROXY_UNSAFE`, `SPW_CIDR_INVALID`, `SPW_TRUST_PROXY_INVALID`
   */
  constructor(options: PeerOptions<Args>, notices?: Notices) {
    this.options = options;
    this.addressing = compileAddressing(options, notices);
    checkCallback('clientIp', options.clientIp);
    this.isConfigured = options.clientIp !== undefined;
  }

  /** The canonical address; undefined where it cannot be known. */
  find(args: Args, request: Pick<LimitRequest, 'header'>): string | undefined {
    return clientOf(this.addressing, this.peer(args), request);
  }

  /** {@link find}, but nothing is told. */
  peek(args: Args, request: Pick<LimitRequest, 'header'>): string | undefined {
    try {
      const own: unknown = this.options.clientIp?.(...args);
      const quiet = { ...this.addressing, watch: undefined };
      return typeof own === 'string' ? clientOf(quiet, own, request) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Tells of a request whose address was asked for though nobody said how to find it. */
  tellMissing(): void {
    this.tell(missingAddressError());
  }

  private peer(args: Args): string | undefined {
    try {
      const own: unknown = this.options.clientIp?.(...args) ?? undefined;
      if (own === undefined || typeof own === 'string') return own;
      throw new Junk('clientIp', own);
    } catch (error) {
      this.tell(error);
      return undefined; // everybody whose address cannot be known is counted together
    }
  }

  private tell(error: unknown): void {
    const { onFault, logger } = this.options;
    tellFault(onFault, { limiter: '', source: 'adapter', error }, logger);
  }
}

/** A request whose address is found on demand; for adapters, which add what their framework knows. */
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
   * To be called after the guard, which catches what is thrown in it. An address that nobody said how to find is a
   * fault; where a limiter that enforces needed it, it is an error, and `admission` holds nothing any more.
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
    'clientIp is required for a limiter that counts by client address: say where this platform tells it, or give the ' +
      'limiter a key for every request; it is never guessed from headers',
  );
}
