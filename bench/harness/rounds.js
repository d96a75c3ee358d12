/**
 * Runs all contenders in each round, and starts each round with a different one, so that busy moments of the machine
 * affect all equally.
 */

export async function inRounds(rounds, contenders, turn) {
  const results = new Map(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round += 1) {
    // The start moves by a prime step, so the order differs from round to round.
    const start = (round * 7) % contenders.length;
    const order = [...contenders.slice(start), ...contenders.slice(0, start)];
    if (round % 2 === 1) order.reverse();
    for (const contender of order) results.get(contender).push(await turn(contender, round));
  }
  return results;
}
