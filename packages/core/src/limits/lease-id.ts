declare const crypto: { getRandomValues(array: Uint32Array): Uint32Array };

/** 96 random bits: the probability of a collision among 10^9 leases held at once is 10^-11. */
export function newLeaseId(): string {
  // Ids have no prefix per process, because a process that is restored twice from one snapshot must not repeat ids.
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint32Array(3));
  return `${a.toString(36)}.${b.toString(36)}.${c.toString(36)}`;
}
