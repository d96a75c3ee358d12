import type { Clock } from '@spillway/core';
import { systemClock } from '@spillway/core/store';

/**
 * A reply is used for 10 to 20 s, or longer if newer ones are rare. Clocks drift and are adjusted, so older replies are
 * forgotten.
 */
const MEMORY_US = 10_000_000;

/**
 * Learns how far the server's clock is ahead. Each reply gives an estimate: the server's time at the decision minus our
 * time when the reply was read. It is too low by the latency of the reply, so the highest estimate is used. A deadline
 * that is translated with it is a little too early, which leaves time for the reply.
 */
export class ServerTime implements Clock {
  private latest = -Infinity;
  private before = -Infinity;
  /**
   * The estimate of the last reply. Unlike the highest estimate, it is right at once when the server's clock is set
   * back.
   */
  private last = 0;
  private sinceUs = 0;
  private isNew = false;

  /** Call this when the next reply may come from another server. The old offset is used until that reply arrives. */
  renew(): void {
    this.isNew = true;
  }

  learn(serverUs: number, receivedUs: number): void {
    if (this.isNew) {
      this.isNew = false;
      this.latest = -Infinity;
      this.before = -Infinity;
      this.sinceUs = receivedUs;
    }
    if (receivedUs - this.sinceUs > MEMORY_US) {
      this.before = this.latest;
      this.latest = -Infinity;
      this.sinceUs = receivedUs;
    }
    this.last = serverUs - receivedUs;
    this.latest = Math.max(this.latest, this.last);
  }

  /** The deadline by the server's clock; 0 if the offset is unknown or there is no deadline. */
  at(deadlineUs: number): number {
    const instant = deadlineUs + Math.max(this.latest, this.before);
    return Number.isFinite(instant) ? Math.max(1, Math.floor(instant)) : 0;
  }

  /** The server's time, estimated from its last reply; this process's time before the first reply. */
  nowUs(): number {
    return systemClock.nowUs() + this.last;
  }
}

/**
 * The maximum number of nodes to remember, more than any cluster has. When it is reached, all are forgotten, so old
 * addresses do not accumulate.
 */
const MAX_NODES = 1_000;

/** What is known of a node; made by `make` if nothing is. */
export function ofNode<Known>(nodes: Map<string, Known>, node: string, make: () => Known): Known {
  let known = nodes.get(node);
  if (!known) {
    if (nodes.size >= MAX_NODES) nodes.clear();
    known = make();
    nodes.set(node, known);
  }
  return known;
}
