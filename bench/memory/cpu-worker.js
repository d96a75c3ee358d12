/** One contender with its keys: `warm` fills it, each `turn` measures the CPU time of a decision. */

import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { makeKeys, shuffled } from '../harness/keys.js';
import { reservesInMemory } from '../shaper/reserves.js';
import { contenders } from './contenders.js';

const [name, keyCount] = process.argv.slice(2);
const { make, later } = { ...contenders, ...reservesInMemory }[name];
const decide = make();
const TURN = 200_000;
const keys = makeKeys(Number(keyCount));
const sequence = shuffled(keys, TURN);
let next = 0;

function runNow(list, from, to) {
  let passed = 0;
  for (let i = from; i < to; i += 1) passed += decide(list[i]) ? 1 : 0;
  return passed;
}

async function runLater(list, from, to) {
  let passed = 0;
  for (let i = from; i < to; i += 1) passed += (await decide(list[i])) ? 1 : 0;
  return passed;
}

const run = later ? runLater : runNow;

/** Makes the next `count` decisions of the sequence, which repeats at its end. */
async function turn(count) {
  let passed = 0;
  for (let left = count; left > 0; ) {
    const end = Math.min(next + left, sequence.length);
    passed += await run(sequence, next, end);
    left -= end - next;
    next = end === sequence.length ? 0 : end;
  }
  return passed;
}

answerCalls({
  async warm() {
    // Filled in a different order than it is read later, because otherwise a `Map` would be read like an array.
    await run(keys, 0, keys.length);
    return turn(2 * TURN);
  },
  async turn() {
    const before = cpuUs();
    const passed = await turn(TURN);
    if (passed !== TURN) console.warn(`${name}: ${TURN - passed} rejections`);
    return ((cpuUs() - before) * 1000) / TURN;
  },
});
