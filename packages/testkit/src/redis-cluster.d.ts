import type { Redis } from 'ioredis';

/** Shares all slots among masters of a cluster, in their order. One by one: Redis 6.2 knows no ranges of slots. */
export declare function assignSlots(masters: readonly Redis[]): Promise<void>;

/** Makes a cluster of servers of this machine, all masters, and waits until each knows all. */
export declare function joinCluster(nodes: readonly Redis[]): Promise<void>;
