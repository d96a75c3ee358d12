/** Notices that proxies tell of their clients what nobody reads: all clients behind one are then counted as one. */

import { forwardedAddresses } from './forwarded.js';

/** What proxies write the address of a client into. Only the first is ever read. */
const FIELDS = [
  'X-Forwarded-For',
  'Forwarded',
  'X-Real-IP',
  'CF-Connecting-IP',
  'True-Client-IP',
] as const;

/** Of RFC 7239, which a proxy may write in place of X-Forwarded-For. */
const STANDARD = ['Forwarded'] as const;

/** So many requests are looked at, then one of as many: a proxy writes its field into each. */
const LOOKED_AT = 100;

/** With more entries than these, a client has probably added some. */
const MOST_HOPS = 5;

/** Who writes the line. */
export interface Teller {
  tell(code: 'SPW_FORWARDED_UNTRUSTED', message: string): void;
}

export class ForwardedWatch {
  private seen = 0;
  private hasTold = false;
  private readonly teller: Teller;
  private readonly setting: string;

  /** @param setting of the framework, that says the same as our `trustProxy` */
  constructor(teller: Teller, setting?: string) {
    this.teller = teller;
    this.setting = setting === undefined ? '' : `, or ${setting}`;
  }

  /**
   * To be called with a request whose client is taken to be `address`, which no proxy has told.
   *
   * @param trusts whether a proxy is trusted, which did not write X-Forwarded-For then
   */
  look(
    address: string | undefined,
    request: { header(name: string): string | undefined },
    trusts: boolean,
  ): void {
    this.seen += 1;
    if (this.hasTold || (this.seen > LOOKED_AT && this.seen % LOOKED_AT !== 0)) return;
    for (const field of trusts ? STANDARD : FIELDS) {
      const value = request.header(field.toLowerCase());
      // The app may have taken the address from the field itself.
      if (!value || (address && value.includes(address))) continue;
      this.hasTold = true;
      this.teller.tell('SPW_FORWARDED_UNTRUSTED', this.message(field, value, trusts));
      return;
    }
  }

  private message(field: string, value: string, trusts: boolean): string {
    const came = `a request came with ${field}`;
    const one = 'so that all clients behind a proxy count as one';
    if (trusts) return `${came}, which is not read, ${one}: have the proxy write X-Forwarded-For`;
    const isRead = field === FIELDS[0];
    const first = isRead ? '' : 'have the proxy write X-Forwarded-For, and ';
    const hops = isRead ? hopsIn(value) : undefined;
    return (
      `${came}, but no proxy is trusted, ${one}: ${first}set trustProxy to the number of proxies` +
      `${hops === undefined ? '' : `, ${hops} for this request`}${this.setting}; ` +
      'if there is no proxy, set trustProxy: false'
    );
  }
}

/** How many proxies there are if each has added one entry; undefined if some entry is none. */
function hopsIn(value: string): number | undefined {
  let hops = 0;
  for (const address of forwardedAddresses(value)) {
    if (address === undefined || hops === MOST_HOPS) return undefined;
    hops += 1;
  }
  return hops;
}
