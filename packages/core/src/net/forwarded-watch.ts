/**
 * Warns if requests carry the client's address in a header that is not read: all clients behind that proxy then share
 * one count.
 */

import { forwardedAddresses } from './forwarded.js';

/** Headers into which proxies write the client's address. Only the first is ever read. */
const HEADERS = [
  'X-Forwarded-For',
  'Forwarded',
  'X-Real-IP',
  'CF-Connecting-IP',
  'True-Client-IP',
] as const;

/** RFC 7239, which some proxies write instead of X-Forwarded-For. */
const STANDARD = ['Forwarded'] as const;

/**
 * The first 100 requests are checked, then one in 100. A proxy adds its header to every request, so a sample suffices.
 */
const SAMPLED = 100;

/** A header with more entries probably has some that the client added, so the number of proxies can't be inferred. */
const MOST_HOPS = 5;

/** Writes the warning. */
export interface NoticeLog {
  tell(code: 'SPW_FORWARDED_UNTRUSTED', message: string): void;
}

export class ForwardedWatch {
  private seen = 0;
  private hasWarned = false;
  private readonly teller: NoticeLog;
  private readonly setting: string;

  /** @param setting the framework's equivalent of `trustProxy` */
  constructor(teller: NoticeLog, setting?: string) {
    this.teller = teller;
    this.setting = setting === undefined ? '' : `, or ${setting}`;
  }

  /**
   * To be called for a request whose client address did not come from a header.
   *
   * @param trusts whether a proxy is trusted; if so, it did not send X-Forwarded-For
   */
  look(
    address: string | undefined,
    request: { header(name: string): string | undefined },
    trusts: boolean,
  ): void {
    this.seen += 1;
    if (this.hasWarned || (this.seen > SAMPLED && this.seen % SAMPLED !== 0)) return;
    for (const field of trusts ? STANDARD : HEADERS) {
      const value = request.header(field.toLowerCase());
      // The app may have read this header itself.
      if (!value || (address && value.includes(address))) continue;
      this.hasWarned = true;
      this.teller.tell('SPW_FORWARDED_UNTRUSTED', this.message(field, value, trusts));
      return;
    }
  }

  private message(field: string, value: string, trusts: boolean): string {
    const came = `a request came with ${field}`;
    const one = 'so all clients behind a proxy count as one';
    if (trusts) return `${came}, which is not read, ${one}: have the proxy write X-Forwarded-For`;
    const isRead = field === HEADERS[0];
    const first = isRead ? '' : 'have the proxy write X-Forwarded-For, and ';
    const hops = isRead ? hopsIn(value) : undefined;
    return (
      `${came}, but no proxy is trusted, ${one}: ${first}set trustProxy to the number of proxies` +
      `${hops === undefined ? '' : `, ${hops} for this request`}${this.setting}; ` +
      'if there is no proxy, set trustProxy: false'
    );
  }
}

/**
 * The number of proxies, assuming that each added one entry; undefined if an entry is not an address or there are too
 * many.
 */
function hopsIn(value: string): number | undefined {
  let hops = 0;
  for (const address of forwardedAddresses(value)) {
    if (address === undefined || hops === MOST_HOPS) return undefined;
    hops += 1;
  }
  return hops;
}
