/**
 * Whether a recorded history is linearizable: whether each operation can be thought to have happened at one instant
 * between its call and its return, so that the outputs are those of a model. The search is that of Wing and Gong, with
 * Lowe's cache of visited states ("Testing for linearizability", 2017).
 */

export interface Operation<Input, Output> {
  readonly callUs: number;
  /** Infinity if it never returned: then it may have happened at any time after its call, or never. */
  readonly returnUs: number;
  readonly input: Input;
  /** Undefined if it never returned. */
  readonly output: Output | undefined;
}

export interface Model<State, Input, Output> {
  readonly initial: State;
  /** The state after an operation; undefined if it cannot have this output. Any output is possible if it is unknown. */
  step(state: State, input: Input, output: Output | undefined): State | undefined;
}

export function isLinearizable<State extends string | number, Input, Output>(
  { initial, step }: Model<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
): boolean {
  const sorted = [...operations].sort((a, b) => a.callUs - b.callUs);
  const visited = new Set<string>();

  // All operations before `from` have happened, and of the later ones, those in `ahead`.
  const search = (from: number, ahead: readonly number[], state: State): boolean => {
    let [start, done] = [from, ahead];
    while (done.includes(start)) {
      const happened = start;
      done = done.filter((at) => at !== happened);
      start += 1;
    }
    const open = sorted.slice(start);
    if (open.every(({ returnUs }, at) => returnUs === Infinity || done.includes(start + at))) {
      return true;
    }
    const name = `${start} ${done.join()} ${state}`;
    if (visited.has(name)) return false;
    visited.add(name);
    // The next operation was called before any other open one returned.
    let firstReturnUs = Infinity;
    for (const [at, { returnUs }] of open.entries()) {
      if (!done.includes(start + at)) firstReturnUs = Math.min(firstReturnUs, returnUs);
    }
    for (let at = start; at < sorted.length; at += 1) {
      const { callUs, input, output } = sorted[at] as Operation<Input, Output>;
      if (callUs > firstReturnUs) break;
      if (done.includes(at)) continue;
      const next = step(state, input, output);
      const after = [...done, at].sort((a, b) => a - b);
      if (next !== undefined && search(start, after, next)) return true;
    }
    return false;
  };
  return search(0, [], initial);
}
