import { afterThisTask, afterThisTurn } from '../host.js';
import type { Group } from './group.js';

interface Sender {
  readonly isIdle: boolean;
  pass(groups: readonly Group[]): void;
  together(send: () => void): void;
}

/**
 * Sends the decisions of one turn of the event loop together, because half of the CPU time of a decision in Redis is
 * the overhead of the call. Waiting for the previous reply, as Nagle's algorithm does, would add a round trip.
 */
export class Batches {
  private readonly sender: Sender;
  private readonly maxSteps: number;
  private readonly coalesce: boolean;
  private groups: Group[] = [];

  constructor(sender: Sender, maxSteps: number, coalesce: boolean) {
    this.sender = sender;
    this.maxSteps = maxSteps;
    this.coalesce = coalesce;
  }

  enqueue(group: Group): void {
    if (!this.coalesce) {
      this.sender.pass([group]);
      return;
    }
    this.groups.push(group);
    if (this.groups.length > 1) return;
    // With no call in flight, waiting for the end of the turn would only add latency.
    if (this.sender.isIdle) afterThisTask(this.flush);
    else afterThisTurn(this.flush);
  }

  private readonly flush = (): void => {
    const { groups, sender } = this;
    this.groups = [];
    if (groups.length === 1) {
      sender.pass(groups);
      return;
    }
    const all = bySlot(groups);
    const sendAll = () => {
      for (const some of all) this.sendBatches(some);
    };
    if (all.length === 1) sendAll();
    else sender.together(sendAll);
  };

  private sendBatches(groups: readonly Group[]): void {
    let from = 0;
    let steps = 0;
    for (let at = 0; at < groups.length; at += 1) {
      const more = (groups[at] as Group).steps.length;
      if (at > from && steps + more > this.maxSteps) {
        this.sender.pass(groups.slice(from, at));
        from = at;
        steps = 0;
      }
      steps += more;
    }
    this.sender.pass(from === 0 ? groups : groups.slice(from));
  }
}

/**
 * Splits groups by hash slot, because a script call must not span slots. Background groups (`isBackground`) are also
 * split by deadline, because a call has only one.
 */
function bySlot(groups: readonly Group[]): readonly (readonly Group[])[] {
  const first = groups[0] as Group;
  if (groups.every((group) => canShareCall(group, first))) return [groups];
  const slots = new Map<number | string, Group[]>();
  for (const group of groups) {
    const { slot, isBackground, deadlineUs } = group;
    const place = isBackground ? `${slot} ${deadlineUs}` : slot;
    const others = slots.get(place);
    if (others) others.push(group);
    else slots.set(place, [group]);
  }
  return [...slots.values()];
}

function canShareCall(one: Group, other: Group): boolean {
  if (one.slot !== other.slot || one.isBackground !== other.isBackground) return false;
  return !one.isBackground || one.deadlineUs === other.deadlineUs;
}
