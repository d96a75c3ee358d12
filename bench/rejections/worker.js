/** One contender with many blocked keys: each `turn` measures the CPU time of a rejection. */

import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { makeKeys, shuffled } from '../harness/keys.js';
import { asked, contenders } from './contenders.js';

const [name, keyCount] = process.argv.slice(2);
/** By default, `reject` resolves to whether the key passed. */
const { reject, passes = (answer) => answer } = contenders[name].make();
const TURN = 200_000;
const keys = makeKeys(Number(keyCount));
const sequence = shuffled(keys, TURN).slice(0, TURN);

async function run(list) {
  let passed = 0;
  for (const key of list) passed += passes(await reject(key)) ? 1 : 0;
  if (passed > 0) throw new Error(`${name}: ${passed} of ${list.length} passed`);
}

answerCalls({
  async warm() {
    await run(keys);
    await run(sequence);
  },
  async turn() {
    const calls = asked();
    const before = cpuUs();
    await run(sequence);
    const us = (cpuUs() - before) / TURN;
    if (asked() !== calls) console.warn(`${name}: asked its store ${asked() - calls} times`);
    return us;
  },
});
