import { unavailable } from '../failures.js';
import { slotOf } from '../slot.js';
import { AnyNodeRedis, type NodeRedisLike } from './node-redis.js';

const EVENTS = ['connect', 'disconnect'] as const;

/** The members of a node-redis cluster that the store uses. */
export interface NodeRedisCluster extends NodeRedisLike {
  /** Undefined before version 6 of node-redis. */
  readonly isReady?: boolean;
  readonly masters: readonly unknown[];
  readonly slots: readonly { readonly master: ClusterNode }[];
}

interface ClusterNode {
  readonly address?: string;
  readonly client?: { readonly isReady: boolean } | undefined;
}

export class ClusterOfNodeRedis extends AnyNodeRedis {
  readonly isCluster = true;
  private readonly cluster: NodeRedisCluster;

  constructor(cluster: NodeRedisCluster) {
    super(
      cluster,
      () => cluster.isOpen && (cluster.isReady ?? cluster.masters.length > 0),
      EVENTS,
      () => `Redis Cluster of ${cluster.masters.length}`,
    );
    this.cluster = cluster;
  }

  nodeOf(slot: number): string | undefined {
    return this.cluster.slots[slot]?.master.address;
  }

  override evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.isAway(keys) ? Promise.reject(unavailable('away')) : super.evalsha(sha, keys, args);
  }

  override eval(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.isAway(keys) ? Promise.reject(unavailable('away')) : super.eval(script, keys, args);
  }

  /**
   * Whether the node of these keys (all in one slot) is disconnected or unknown. If so, calls must fail, because the
   * client of this node would queue them without a deadline.
   */
  private isAway(keys: readonly string[]): boolean {
    const owner = this.cluster.slots[slotOf(keys[0] ?? '')];
    return owner === undefined || owner.master.client?.isReady === false;
  }
}
