/** Rounds that take every contender in turn, each time from another start: a busy moment of the machine hits all alike. */

export async function inRounds(rounds, contenders, turn) {
  const results = new Map(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1) {
    // A prime step walks over all of them in an order that differs from round to round.
    const start = (round * 7) % contenders.length;
    const order = [...contenders.slice(start), ...contenders.slice(0, start)];
    if (round % 2 === 1) order.reverse();
    for (const contender of order) results.get(contender).push(await turn(contender, round));
  }
  return results;
}
