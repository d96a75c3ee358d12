import { describe, expect, it } from 'vitest';
import {
  type Loops,
  mean,
  type Protection,
  type Run,
  run,
  type Scenario,
  SEEDS,
  turnsOf,
} from './scenarios.js';
import { CAPACITY } from './service.js';

const done = new Map<string, Run[]>();

/** One run with each seed; each is made once. */
function runs(scenario: Scenario, loops: Protection): Run[] {
  const key = `${scenario}, ${loops}`;
  const known = done.get(key) ?? SEEDS.map((seed) => run(scenario, loops, seed));
  done.set(key, known);
  return known;
}

function goodput(scenario: Scenario, loops: Protection): number {
  return mean(runs(scenario, loops), (one) => one.goodput);
}

/** The mean of the rejected fractions from one second to another. */
function rejected(one: Run, from: number, to: number): number {
  const bins = one.rejected.slice(from * 10, to * 10);
  return bins.reduce((sum, value) => sum + value, 0) / bins.length;
}

describe.each<Loops>(['brake', 'both'])('with %s', (loops) => {
  it('at twice the capacity, 89 % of it serves in time, and 99 % of what is critical', () => {
    for (const one of runs('twice', loops)) {
      expect(one.goodput).toBeGreaterThan(0.89 * CAPACITY);
      expect(one.critical).toBeGreaterThan(0.99);
      expect(one.turns).toBeLessThanOrEqual(2);
    }
  });

  it('at twice the capacity on new connections, which wait where no timer sees them: 82 % and 99 %', () => {
    for (const one of runs('twice on new connections', loops)) {
      expect(one.goodput).toBeGreaterThan(0.82 * CAPACITY);
      expect(one.critical).toBeGreaterThan(0.99);
    }
    expect(goodput('twice on new connections', 'none')).toBeLessThan(0.02 * CAPACITY);
  });

  it('at 1.2 times, 95 % and 99 %, without flapping', () => {
    for (const one of runs('slightly', loops)) {
      expect(one.goodput).toBeGreaterThan(0.95 * CAPACITY);
      expect(one.critical).toBeGreaterThan(0.99);
      expect(one.turns).toBeLessThanOrEqual(10); // of more than a fifth of all traffic, in two minutes
    }
  });

  it('a slow dependency without overload costs nothing', () => {
    expect(goodput('slow dependency', loops)).toBeGreaterThan(
      0.97 * goodput('slow dependency', 'none'),
    );
  });

  it('a neighbour that takes three quarters of the processor for three seconds leaves nothing behind', () => {
    for (const one of runs('a neighbour for three seconds', loops)) {
      expect(rejected(one, 20.5, 23)).toBeGreaterThan(0.7);
      expect(rejected(one, 25, 30)).toBeLessThan(0.62);
    }
  });

  it('a spike of five seconds at three times leaves what is critical standing', () => {
    for (const one of runs('spike', loops)) {
      expect(one.critical).toBeGreaterThan(0.8);
      expect(one.goodput).toBeGreaterThan(4 * goodput('spike', 'none'));
      expect(one.turns).toBeLessThanOrEqual(2);
    }
  });

  it('a pause of 150 ms in each second does not wind it up', () => {
    for (const one of runs('long pauses', loops))
      expect(one.goodput).toBeGreaterThan(0.52 * CAPACITY);
  });

  it('a pause of 100 ms every five seconds costs less than 3 %', () => {
    expect(goodput('pauses', loops)).toBeGreaterThan(0.97 * goodput('pauses', 'none'));
  });

  it('a saturated dependency is not seen: nothing is rejected, and nothing is served', () => {
    for (const one of runs('saturated dependency', loops)) {
      expect(rejected(one, 0, 120)).toBeLessThan(0.01);
      expect(one.goodput).toBeLessThan(0.05 * CAPACITY);
    }
  });

  it.each<Scenario>(['idle beside neighbours', 'idle under a CPU limit'])(
    '%s: a late loop that has little to do rejects nothing',
    (scenario) => {
      for (const one of runs(scenario, loops)) {
        expect(one.rejected.filter((share) => share > 0)).toEqual([]);
        expect(one.critical).toBeGreaterThan(0.99);
      }
    },
  );

  it('an overload beside neighbours is shed as any other', () => {
    for (const one of runs('twice beside neighbours', loops)) {
      expect(one.critical).toBeGreaterThan(0.98);
      expect(rejected(one, 5, 120)).toBeGreaterThan(0.5);
    }
    const without = goodput('twice beside neighbours', 'none');
    expect(goodput('twice beside neighbours', loops)).toBeGreaterThan(10 * without);
  });

  it('an overload that meets an idle loop is shed within half a second', () => {
    for (const one of runs('spike from idle', loops)) {
      expect(rejected(one, 5.5, 6)).toBeGreaterThan(0.3);
      expect(one.critical).toBeGreaterThan(0.97);
      expect(one.goodput).toBeGreaterThan(0.6 * CAPACITY);
    }
  });

  it('classes are rejected in their order', () => {
    for (const { served, offered } of runs('twice', loops)) {
      const share = (name: keyof typeof served) => served[name] / offered[name];
      expect(share('test')).toBeLessThan(0.05);
      expect(share('get')).toBeLessThan(0.05);
      expect(share('post')).toBeGreaterThan(0.6);
    }
  });
});

describe('a saturated dependency, which no signal of the loop can see', () => {
  it('serves what it can behind a limit on concurrent requests, whoever asks', () => {
    for (const one of runs('saturated dependency', 'limit')) {
      expect(one.goodput).toBeGreaterThan(0.9 * 107);
      expect(one.critical).toBeGreaterThan(0.45);
      expect(one.critical).toBeLessThan(0.65);
    }
  });

  it('serves what is critical behind a fleet shedder', () => {
    for (const one of runs('saturated dependency', 'fleet')) {
      expect(one.goodput).toBeGreaterThan(0.9 * 107);
      expect(one.critical).toBeGreaterThan(0.99);
    }
  });
});

describe('a fleet shedder and a worker shedder in one list', () => {
  it.each<[Scenario, number]>([
    ['twice', 0.89 * CAPACITY],
    ['saturated dependency at twice', 0.95 * 107],
  ])('%s: serves what it can, and what is critical', (scenario, least) => {
    for (const one of runs(scenario, 'fleet and both')) {
      expect(one.goodput).toBeGreaterThan(least);
      expect(one.critical).toBeGreaterThan(0.99);
    }
  });
});

describe('what may be in progress, of which the healthy service has 5 on average', () => {
  it.each<Protection>(['fleet', 'fleet of 20', 'fleet of 10'])(
    '%s: a saturated dependency serves the same',
    (fleet) => {
      expect(goodput('saturated dependency', fleet)).toBeGreaterThan(0.98 * 107);
    },
  );

  it.each<[Protection, number, number]>([
    ['fleet', 0, 0.0001],
    ['fleet of 20', 0.001, 0.006],
    ['fleet of 10', 0.02, 0.04],
  ])('%s: the healthy service loses from %d to %d of its requests', (fleet, least, most) => {
    const share = mean(runs('pauses', fleet), (one) => rejected(one, 0, 120));
    expect(share).toBeGreaterThanOrEqual(least);
    expect(share).toBeLessThan(most);
  });
});

describe('a signal of the pool, on the brake', () => {
  it('serves what the saturated dependency can, and what is critical first', () => {
    for (const one of runs('saturated dependency', 'pool')) {
      expect(one.goodput).toBeGreaterThan(0.9 * 107);
      expect(one.critical).toBeGreaterThan(0.95);
    }
  });

  it('does not see an overload of the processor', () => {
    expect(goodput('twice', 'pool')).toBeLessThan(0.05 * CAPACITY);
  });

  it('rejects next to nothing while the dependency is well', () => {
    for (const one of runs('pauses', 'pool')) {
      expect(rejected(one, 0, 120)).toBeLessThan(0.01);
    }
  });
});

describe('after an overload of two minutes', () => {
  it('the brake alone lets everything pass again within ten seconds', () => {
    expect(rejected(run('aftermath', 'brake', 1), 130, 240)).toBeLessThan(0.01);
  });

  it('both loops do too: the ladder has left the overload to the brake', () => {
    const one = run('aftermath', 'both', 1);
    expect(rejected(one, 130, 240)).toBeLessThan(0.01);
    expect(one.shedAmount).toBe(0);
  });
});

it('an overload of ten minutes is served as one of two', () => {
  const { goodput: served, critical } = run('ten minutes at twice', 'both', 101);
  expect(served).toBeGreaterThan(0.89 * CAPACITY);
  expect(critical).toBeGreaterThan(0.99);
});

describe('without the brake', () => {
  it.each<Loops>(['none', 'ladder'])('%s: the service drowns in seconds', (loops) => {
    expect(run('twice', loops, 1).goodput).toBeLessThan(0.02 * CAPACITY);
  });
});

it('a run is the same each time', () => {
  expect(run('spike', 'both', 9)).toEqual(run('spike', 'both', 9));
  expect(run('spike', 'both', 9).rejected).not.toEqual(run('spike', 'both', 10).rejected);
});

it('a series turns where it goes back by more than was said', () => {
  expect(turnsOf([0, 0.5, 0.4, 0.6, 0.1, 0.15, 0.5], 0.2)).toBe(2);
  expect(turnsOf([0, 0.1, 0, 0.1, 0], 0.2)).toBe(0);
});
