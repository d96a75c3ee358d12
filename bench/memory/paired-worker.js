/**
 * Contenders of one process, which take short turns on the same keys. For contenders that differ by a few percent: two
 * processes that run the same code differ by more.
 */

import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { makeKeys, shuffled } from '../harness/keys.js';
import { contenders, observed } from './contenders.js';

const [keyCount, ...names] = process.argv.slice(2);
const TURN = 10_000;
const keys = makeKeys(Number(keyCount));
const sequence = shuffled(keys, TURN).slice(0, Math.max(TURN, keys.length));
const decisions = names.map((name) => ({ ...contenders, ...observed })[name].make());

function turn(decide) {
  const before = cpuUs();
  for (let i = 0; i < sequence.length; i += 1) {
    if (!decide(sequence[i])) throw new Error(`unexpected decision on ${sequence[i]}`);
  }
  return ((cpuUs() - before) * 1000) / sequence.length;
}

/** A turn of each contender, first in order and then in reverse, so that none has a better place. */
function lap() {
  const there = decisions.map(turn);
  const back = decisions.toReversed().map(turn).toReversed();
  return there.map((time, at) => (time + back[at]) / 2);
}

answerCalls({
  /** Returns the CPU time of a decision in ns: of each contender, a list with a number per lap. */
  run(warm, laps) {
    for (let i = 0; i < warm; i += 1) lap();
    const times = Array.from({ length: laps }, lap);
    return decisions.map((_, at) => times.map((one) => one[at]));
  },
});
