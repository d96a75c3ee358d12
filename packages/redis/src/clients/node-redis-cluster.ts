import { unavailable } from '../failures.js';
import { hashSlotOf } from '../hash-slot.js';
import { AnyNodeRedis, type NodeRedisLike } from './node-redis.js';

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

export class ClusterOfNodeRedis extends AnyNodeRedis<NodeRedisCluster> {
  readonly isCluster = true;
  protected readonly events = ['connect', 'disconnect'] as const;

  get label(): string {
    return `Redis Cluster of ${this.client.masters.length}`;
  }

  protected isReady(): boolean {
    const { isOpen, isReady, masters } = this.client;
    return isOpen && (isReady ?? masters.length > 0);
  }

  nodeOf(slot: number): string | undefined {
    return this.client.slots[slot]?.master.address;
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
    const owner = this.client.slots[hashSlotOf(keys[0] ?? '')];
    return owner === undefined || owner.master.client?.isReady === false;
  }
}
