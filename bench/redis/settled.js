/** The cost in Redis of a request that is settled at its end, compared with one that only releases a permit. */

import { startChild } from '../harness/child.js';
import { inRounds } from '../harness/rounds.js';
import { digits, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';

const ROUNDS = 12;
const COUNT = 400;
const KINDS = {
  plain: 'a rate limit and a permit, released',
  down: 'the same with a meter, settled below its reservation',
  up: 'the same with a meter, settled above its reservation',
  permit: 'only a permit, released',
  alone: 'only a meter, settled below its reservation',
};
const TARGET = [
  'Redis, a settled request ÷ one that releases a permit: time in scripts',
  '<=',
  1.3,
];

export async function settledTable(port, say) {
  say('Redis, settlements');
  const child = startChild(import.meta.url, './settled-worker.js', { args: [`${port}`], core: 0 });
  const names = Object.keys(KINDS);
  for (const name of names) await child.call('requests', name, COUNT); // to warm up
  const results = await inRounds(ROUNDS, names, (name) => child.call('requests', name, COUNT));
  child.end();
  const pick = (name) => results.get(name).map(({ scriptUs }) => scriptUs);
  const rows = names.map((name) => {
    const share = ratio(
      pick(name),
      pick(name === 'alone' || name === 'permit' ? 'permit' : 'plain'),
    );
    const isHeld = name !== 'plain' && name !== 'permit';
    return [KINDS[name], spread(pick(name)), isHeld ? judged(share, TARGET) : digits(share)];
  });
  const head = ['A request with', 'in scripts, both calls: µs', '÷ one that releases a permit'];
  return `One request at a time, admission and end:\n\n${table(head, rows)}`;
}
