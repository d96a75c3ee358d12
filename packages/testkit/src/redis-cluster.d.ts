import type { Redis } from 'ioredis';

/**
 * Divides all slots among the masters of a cluster, in order. It assigns single slots, because Redis 6.2 doesn't
 * support ranges.
 */
export declare function assignSlots(masters: readonly Redis[]): Promise<void>;

/**
 * Joins local servers to a cluster, all as masters with about the same number of slots. Waits until each knows all
 * others and the cluster is ready.
 */
export declare function joinCluster(nodes: readonly Redis[]): Promise<void>;
