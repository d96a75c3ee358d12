/** Who is asking: the address of a client, in one spelling, as far as it can be trusted. */

export { canonicalAddress, checkIpv6Prefix } from './address.js';
export { clientAddress, compileTrust, type Trust, type TrustProxy } from './trust.js';
