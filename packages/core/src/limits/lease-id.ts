declare const crypto: { getRandomValues(array: Uint32Array): Uint32Array };

/** Returns 96 random bits. Among 10^9 leases held at once, the probability of a collision is 10^-11. */
export function newLeaseId(): string {
  // Ids have no prefix per process, because a process that is restored twice from one snapshot must not repeat ids.
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
  return `${a.toString(36)}.${b.toString(36)}.${c.toString(36)}`;
}
