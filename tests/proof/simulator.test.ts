import { simulate } from '@spillway/conformance/simulator';
import { expect, test } from 'vitest';
import { BUGS } from './bugs.js';
import { release, subjectOf } from './subject.js';

const HISTORIES = 250;
const MINUTES = 60_000;

test(`${HISTORIES} histories of the real code keep every law`, {
  timeout: 10 * MINUTES,
}, async () => {
  const subject = await subjectOf();
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const { failure } = await simulate(subject, { seed });
    expect(failure, `seed ${seed}`).toBeUndefined();
  }
});

test('settlements whose replies get lost charge what was spent', {
  timeout: 5 * MINUTES,
}, async () => {
  const subject = await subjectOf();
  for (let seed = 1; seed <= 30; seed += 1) {
    const { failure } = await simulate(subject, { seed, focus: 'spending', faults: ['loseReply'] });
    expect(failure, `seed ${seed}`).toBeUndefined();
  }
});

test('this version and the packed release run side by side, and replace each other', {
  timeout: 2 * MINUTES,
}, async () => {
  const subject = { ...(await subjectOf()), other: await release() };
  let deploys = 0;
  for (let seed = 1; seed <= 60; seed += 1) {
    const { failure, history } = await simulate(subject, { seed });
    expect(failure, `seed ${seed}`).toBeUndefined();
    deploys += history.plan.faults.filter(({ kind }) => kind === 'deploy').length;
  }
  expect(deploys).toBeGreaterThan(3);
});

test('one seed gives one history', async () => {
  const subject = await subjectOf();
  const [one, other] = [await simulate(subject, { seed: 7 }), await simulate(subject, { seed: 7 })];
  const told = ({ history }: typeof one) => [
    history.outcomes.map(({ act, endUs, allowed, decisions }) => ({
      act,
      endUs,
      allowed,
      decisions,
    })),
    history.executions.map(({ serverUs, writes }) => ({ serverUs, writes })),
  ];
  expect(told(other)).toEqual(told(one));
});

test('a plan that fails is made smaller, and fails again', async () => {
  const bug = BUGS.find(({ name }) => name === 'a bucket charges what it rejects');
  const subject = await subjectOf(bug?.mutations);
  let seed = 1;
  let { failure } = await simulate(subject, { seed });
  for (; !failure; seed += 1) ({ failure } = await simulate(subject, { seed }));
  expect(failure.broken.size).toBeGreaterThan(0);
  expect(failure.plan.acts.length).toBeLessThanOrEqual(4);
});
