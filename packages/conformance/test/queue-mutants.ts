/** Stores whose queue is wrong in one way each: its waits, its end, its pause, its changes. */

import type { Answer, Step } from '@spillway/core';
import { makeShaperRule, type QueueRule, type Rule } from '@spillway/core/store';
import { type Mutant, memory, mutant, steps } from './mutant.js';
import { openTampered, type TamperText } from './tampered.js';

const WAITS = 'lets units wait for their turn';
const REFUSES = 'rejects a wait that is too long';
const LAST = 'gives back to a queue only';
const CHANGES = 'keeps a queue when';
const PAUSES = 'starts nothing in a pause, and';

/** A store that decides under other numbers than those of the rule. */
function ruled(name: string, caughtBy: string, change: (rule: QueueRule) => QueueRule): Mutant {
  return steps(name, caughtBy, (step) =>
    step.rule.machine === 'queue' ? { ...step, rule: change(step.rule) } : step,
  );
}

function recoded(codeOf: (rule: Rule) => string): (step: Step) => Step {
  return (step) => ({ ...step, rule: { ...step.rule, code: codeOf(step.rule) } });
}

/** The stored text of one count, as docs/stored-format.md defines it. */
interface Stored {
  us: number;
  span: number;
  pause: number;
  num: number;
  den: number;
}

type Tamper = (stored: Stored, step: Step & { readonly rule: QueueRule }, nowUs: number) => void;

/** A store that changes what it has stored, before or after each step that is alone in its group. */
function stored(
  name: string,
  caughtBy: string,
  { before, after }: { readonly before?: Tamper; readonly after?: Tamper },
): Mutant {
  return { name, caughtBy, open: () => openTampered(textual(before), textual(after)) };
}

function textual(tamper: Tamper | undefined): TamperText {
  return (text, step, nowUs) => {
    if (step.rule.machine !== 'queue') return text;
    const [us = 0, span = 0, pause = 0, num = 0, den = 1] = text.split(':').map(Number);
    const all: Stored = { us, span, pause, num, den };
    tamper?.(all, { ...step, rule: step.rule }, nowUs);
    return [all.us, all.span, all.pause, all.num, all.den].join(':');
  };
}

const waits: readonly Mutant[] = [
  mutant('tells a wait that ignores the burst', WAITS, (right, group) =>
    right.apply(group).map((answer, at) => {
      const { rule } = group[at] as Step;
      return rule.machine === 'queue' && 'tatUs' in answer && answer.tatUs > answer.nowUs
        ? ({ ...answer, tatUs: answer.tatUs + rule.leadUs } as Answer)
        : answer;
    }),
  ),
  ruled('lets wait however long', REFUSES, ({ limit, windowUs, burst }) =>
    makeShaperRule(limit, windowUs, burst, 86_400_000_000),
  ),
  ruled('lets nobody wait', WAITS, ({ limit, windowUs, burst }) =>
    makeShaperRule(limit, windowUs, burst, 0),
  ),
  ruled('admits any number at once', WAITS, ({ limit, windowUs, waitUs }) =>
    makeShaperRule(limit, windowUs, 1_000, waitUs),
  ),
  mutant('charges what would have to wait too long', REFUSES, (right, group) => {
    const answers = right.apply(group);
    const refused = group.filter((step, at) => step.op === 'take' && !answers[at]?.allowed);
    const wide = ({ limit, windowUs, burst }: QueueRule) =>
      makeShaperRule(limit, windowUs, burst, 86_400_000_000);
    for (const step of refused) {
      if (step.rule.machine === 'queue') right.apply([{ ...step, rule: wide(step.rule) }]);
    }
    return answers;
  }),
];

const tails: readonly Mutant[] = [
  mutant('gives back from the middle of a queue', LAST, (right, group) =>
    right.apply(
      group.map((step) => {
        if (step.op !== 'put' || step.rule.machine !== 'queue' || !step.receipt) return step;
        const [tail] = right.apply([{ ...step, op: 'look' }]);
        if (!tail || !('tatUs' in tail)) return step;
        return { ...step, receipt: { ...step.receipt, atUs: tail.tatUs, num: tail.tatNum } };
      }),
    ),
  ),
  steps('gives back nothing to a queue', LAST, (step) =>
    step.op === 'put' && step.rule.machine === 'queue' ? { ...step, op: 'look' } : step,
  ),
  steps('gives back all of the tail whatever is asked', LAST, (step) =>
    step.op === 'put' && step.rule.machine === 'queue' ? { ...step, cost: 1_000 } : step,
  ),
];

const changes: readonly Mutant[] = [
  {
    name: 'counts each pace apart',
    caughtBy: CHANGES,
    open: () => memory(recoded((rule) => `q${rule.limit}`)),
  },
  {
    name: 'counts each longest wait apart',
    caughtBy: CHANGES,
    open: () => memory(recoded((rule) => ('waitUs' in rule ? `q${rule.waitUs}` : rule.code))),
  },
  stored('cuts the queue to what the changed numbers allow', CHANGES, {
    before(all, { rule }, nowUs) {
      all.us = Math.min(all.us, nowUs + rule.tolUs + rule.waitUs);
    },
  }),
  stored('keeps the span of who charged last', 'cuts a queue that', {
    after(all, { rule }) {
      all.span = makeShaperRule(rule.limit, rule.windowUs, rule.burst, 500_000).spanUs;
    },
  }),
  stored('never cuts a queue', 'cuts a queue that', {
    after(all) {
      all.span = 4_000_000_000_000;
    },
  }),
  stored('drops the fraction of another pace', 'reads a fraction', {
    before(all, { rule }) {
      if (all.den === rule.den) return;
      all.num = 0;
      all.den = 1;
    },
  }),
  stored('drops the fraction of another pace (in a generated trace)', 'replays live changes', {
    before(all, { rule }) {
      if (all.den === rule.den) return;
      all.num = 0;
      all.den = 1;
    },
  }),
];

const pauses: readonly Mutant[] = [
  stored('shortens a pause', 'lengthens a pause', {
    before(all, { op }) {
      if (op === 'hold') all.pause = 0;
    },
  }),
  stored('forgets the queue when it is held', 'keeps a queue that is longer', {
    before(all, { op }) {
      if (op === 'hold') all.us = 0;
    },
  }),
  stored('leaves the bucket full behind a pause', PAUSES, {
    after(all, { op, rule }) {
      if (op === 'hold') all.us -= rule.leadUs;
    },
  }),
  stored('forgets a pause when it charges', PAUSES, {
    after(all, { op }) {
      if (op === 'take') all.pause = 0;
    },
  }),
  stored('gives back into a pause', 'starts nothing in a pause because', {
    after(all, { op }) {
      if (op === 'put') all.pause = 0;
      if (op === 'put') all.us -= 150_000;
    },
  }),
  stored('starts a burst in a pause after a change', 'keeps a pause when pace', {
    before(all, { op }) {
      if (op === 'take') all.pause = 0;
    },
  }),
  stored('cuts the queue behind a pause', 'keeps a pause and its queue', {
    before(all, _step, nowUs) {
      all.us = Math.min(all.us, nowUs + all.span);
    },
  }),
  stored('keeps a pause of three days', 'keeps a pause and its queue', {
    after(all, { op }, nowUs) {
      if (op !== 'hold' && all.pause === nowUs + 86_400_000_000) all.pause += 86_400_000_000;
    },
  }),
  steps('keeps a queue at a reset', 'forgets a queue', (step) =>
    step.op === 'reset' && step.rule.machine === 'queue' ? { ...step, op: 'look' } : step,
  ),
  mutant('holds only if the group passes', 'holds whatever', (right, group) => {
    const takes = group.filter(({ op }) => op !== 'hold');
    if (takes.length === group.length) return right.apply(group);
    const looks = right.apply(takes.map((step) => ({ ...step, op: 'look' })));
    const passes = looks.every(({ allowed }) => allowed);
    return right.apply(passes ? group : group.map((step) => ({ ...step, holdUs: 0 })));
  }),
  mutant('holds a bucket that lets nobody wait', 'rejects a group that cannot', (right, group) =>
    right.apply(
      group.map((step) =>
        step.op === 'hold' && step.rule.machine === 'bucket' ? { ...step, op: 'look' } : step,
      ),
    ),
  ),
];

const TOGETHER = 'starts takes together at';
const REJECTS_TOGETHER = 'charges no take that starts together';

const togethers: readonly Mutant[] = [
  steps('starts each take at its own time', TOGETHER, ({ together: _, ...step }) => step),
  mutant('starts all at the earliest of their starts', TOGETHER, (right, group) => {
    const answers = right.apply(group);
    const starts = answers.map((answer) => ('tatUs' in answer ? answer.tatUs : Infinity));
    const areTogether = group.some(({ together }) => together);
    return answers.map((answer) =>
      areTogether && 'tatUs' in answer ? { ...answer, tatUs: Math.min(...starts) } : answer,
    );
  }),
  mutant('charges those that pass of a rejected group', REJECTS_TOGETHER, (right, group) => {
    const answers = right.apply(group);
    if (group.some(({ together }) => together) && answers.some(({ allowed }) => !allowed)) {
      for (const step of group) right.apply([step]);
    }
    return answers;
  }),
];

export const queueMutants: readonly Mutant[] = [
  ...waits,
  ...tails,
  ...changes,
  ...pauses,
  ...togethers,
];
