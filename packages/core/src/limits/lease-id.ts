/** Names for leases that no two holders choose. */

declare const crypto: { getRandomValues(array: Uint32Array): Uint32Array };

/** 96 random bits: among 10^9 leases held at once, two meet with a probability of 10^-11. */
export function newLeaseId(): string {
  // Fresh for each: a process that is snapshotted and started twice must not repeat itself.
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
  return `${a.toString(36)}.${b.toString(36)}.${c.toString(36)}`;
}
