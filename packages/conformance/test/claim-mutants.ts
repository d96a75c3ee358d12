/** Stores that are wrong in one way each about claims and values. */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import type { ClaimsAnswer, ClaimsRule, ValueName, Values } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import type { OpenStore } from '../src/index.js';
import { type Mutant, memory, mutant, steps } from './mutant.js';
import { openTampered } from './tampered.js';

const ONCE = 'lets one of many';
const FREES = 'frees a claim exactly';
const AGAIN = 'takes a claim again';
const RENEWS = 'renews a claim';
const KEEPS = 'keeps what is done';
const MARKS = 'marks a claim as done';
const FENCES = 'lets nobody who has lost';
const GIVES = 'gives up a claim';
const APART = 'counts claims apart';
const AHEAD = 'holds no claim for years';
const WRONGLY = 'rejects a group with an invalid claim';
const REPLAYS = 'replays traces of claims';

type ClaimStep = Step & { readonly rule: ClaimsRule };

/** A store that changes each step with a claim before it answers. */
function claims(name: string, caughtBy: string, change: (step: ClaimStep) => Step): Mutant {
  return steps(name, caughtBy, (step) =>
    step.rule.machine === 'claims' && step.claim ? change({ ...step, rule: step.rule }) : step,
  );
}

function ruled(rule: ClaimsRule, changed: Partial<ClaimsRule>): { readonly rule: ClaimsRule } {
  return { rule: { ...rule, ...changed } };
}

function renamed(step: Step, id: string): Step {
  return { ...step, ...(step.claim && { claim: { ...step.claim, id } }) };
}

function owned(step: Step, owner: string): Step {
  return { ...step, ...(step.claim && { claim: { ...step.claim, owner } }) };
}

function noted(step: Step, note: string): Step {
  return { ...step, ...(step.claim && { claim: { ...step.claim, note } }) };
}

/** A store that gives wrong answers about claims. */
function tells(name: string, caughtBy: string, change: (answer: ClaimsAnswer) => Answer): Mutant {
  return mutant(name, caughtBy, (right, group) =>
    right.apply(group).map((answer) => ('state' in answer ? change(answer) : answer)),
  );
}

/** The stored text of one claim, as docs/stored-format.md defines it. */
interface Stored {
  ends: number;
  state: string;
  owner: string;
  note: string;
}

/** A store that changes or drops what it has stored, before each step that is alone in its group. */
function stored(
  name: string,
  caughtBy: string,
  tamper: (stored: Stored, step: Step, nowUs: number) => boolean,
): Mutant {
  const open = () =>
    openTampered((text, step, nowUs) => {
      const parts = /^(\d+)([rd])(.{16})(.*)$/.exec(text);
      if (!parts) return text;
      const [, ends, state = '', owner = '', note = ''] = parts;
      const all: Stored = { ends: Number(ends), state, owner, note };
      const stays = tamper(all, step, nowUs);
      return stays ? `${all.ends}${all.state}${all.owner}${all.note}` : undefined;
    });
  return { name, caughtBy, open };
}

const times: readonly Mutant[] = [
  claims('frees a claim a microsecond too soon', FREES, (step) => ({
    ...step,
    ...ruled(step.rule, { leaseUs: step.rule.leaseUs - 1 }),
  })),
  claims('holds a claim a microsecond too long', FREES, (step) => ({
    ...step,
    ...ruled(step.rule, { leaseUs: step.rule.leaseUs + 1 }),
  })),
  claims('keeps a claim a microsecond too short', KEEPS, (step) => ({
    ...step,
    ...ruled(step.rule, { keepUs: step.rule.keepUs - 1 }),
  })),
  claims('keeps a claim only for its lease', KEEPS, (step) => ({
    ...step,
    ...ruled(step.rule, { keepUs: step.rule.leaseUs }),
  })),
  claims('holds a claim as long as it is kept', FREES, (step) => ({
    ...step,
    ...ruled(step.rule, { leaseUs: step.rule.keepUs }),
  })),
  stored('sees what is over a microsecond later', FREES, (all) => {
    all.ends += 1;
    return true;
  }),
  stored('trusts a lease of another year', AHEAD, (all, { op }, nowUs) => {
    const day = 86_400_000_000;
    if (op === 'take' && all.state === 'r' && all.ends > nowUs + day) all.ends = nowUs + day;
    return true;
  }),
  stored('cuts what is done to a day', AHEAD, (all, _, nowUs) => {
    if (all.state === 'd') all.ends = Math.min(all.ends, nowUs + 86_400_000_000);
    return true;
  }),
];

const owners: readonly Mutant[] = [
  claims('lets everybody run it', ONCE, (step) =>
    step.op === 'take' ? owned(step, 'o'.repeat(16)) : step,
  ),
  mutant('reads, waits, then writes', ONCE, async (right, group) => {
    const looks = right.apply(group.map((step) => ({ ...step, op: 'look' })));
    await Promise.resolve();
    if (!looks.every(({ allowed }) => allowed)) return right.apply(group);
    right.apply(group.map((step) => ({ ...step, op: 'reset' })));
    return right.apply(group);
  }),
  stored('takes no resend of its owner', AGAIN, (all, { op, claim }) => {
    if (op === 'take' && all.owner === claim?.owner) all.owner = 'x'.repeat(16);
    return true;
  }),
  claims('renews nothing', RENEWS, (step) =>
    step.op === 'record' ? { ...step, op: 'look' } : step,
  ),
  stored('renews for everybody', RENEWS, (all, { op, claim }) => {
    if (op === 'record' && all.state === 'r') all.owner = claim?.owner ?? '';
    return true;
  }),
  stored('renews what is done', RENEWS, (all, { op }) => !(op === 'record' && all.state === 'd')),
  stored('lets everybody mark it as done', MARKS, (all, { op, claim }) => {
    if (op === 'done' && all.state === 'r') all.owner = claim?.owner ?? '';
    return true;
  }),
  stored('marks it as done without looking, as SET does', FENCES, (_, { op }) => op !== 'done'),
  stored('overwrites the note of who sends again', MARKS, (all, { op, claim }) => {
    if (op === 'done' && all.owner === claim?.owner) all.state = 'r';
    if (all.state === 'r') all.note = '';
    return true;
  }),
  stored('refuses who sends a done again', MARKS, (all, { op }) => {
    if (op === 'done' && all.state === 'd') all.owner = 'x'.repeat(16);
    return true;
  }),
  stored('lets everybody give it up', GIVES, (all, { op, claim }) => {
    if (op === 'put' && all.state === 'r') all.owner = claim?.owner ?? '';
    return true;
  }),
  stored('gives up what is done', GIVES, (all, { op }) => {
    if (op === 'put') {
      all.state = 'r';
      all.note = '';
    }
    return true;
  }),
  stored('lets who lost a claim give it up', FENCES, (all, { op, claim }) => {
    if (op === 'put') all.owner = claim?.owner ?? '';
    return true;
  }),
  stored('runs again what is done', KEEPS, (all, { op }) => !(op === 'take' && all.state === 'd')),
  claims('forgets a claim that is given up only at its end', GIVES, (step) =>
    step.op === 'put' ? { ...step, op: 'look' } : step,
  ),
  stored('forgets the owner (in a generated trace)', REPLAYS, (all, { op, claim }) => {
    if (op === 'done' && all.state === 'r') all.owner = claim?.owner ?? '';
    return true;
  }),
  stored('sees what is over a microsecond later (in a generated trace)', REPLAYS, (all) => {
    all.ends += 1;
    return true;
  }),
];

const names: readonly Mutant[] = [
  claims('forgets the key, as libraries do', APART, (step) => ({ ...step, key: '' })),
  claims('trims ids', APART, (step) => renamed(step, step.claim?.id.trim() ?? '')),
  claims('ignores case', APART, (step) => renamed(step, step.claim?.id.toLowerCase() ?? '')),
  claims('keeps one claim for each key', APART, (step) => renamed(step, '')),
  claims('hashes only the start of an id', APART, (step) =>
    renamed(step, step.claim?.id.slice(0, 255) ?? ''),
  ),
  claims('joins key and id', APART, (step) => ({
    ...renamed(step, `${step.key}${step.claim?.id}`),
    key: '',
  })),
  claims('writes ids as UTF-8', APART, (step) =>
    renamed(step, step.claim?.id.replace(/\p{Surrogate}/gu, '\ufffd') ?? ''),
  ),
];

const groups: readonly Mutant[] = [
  mutant(
    'takes a claim before the group is decided',
    'takes no claim if a step',
    (right, group) => {
      const own = group.filter(({ claim }) => claim);
      if (own.length < group.length) right.apply(own);
      return right.apply(group);
    },
  ),
  mutant('decides the limits first', 'charges nothing of a group', (right, group) => {
    const own = group.filter(({ claim }) => claim);
    const rest = group.filter(({ claim }) => !claim);
    if (own.length === 0 || rest.length === 0) return right.apply(group);
    const [answers, held] = [right.apply(rest), right.apply(own)];
    return group.map((step) =>
      step.claim ? (held[own.indexOf(step)] as Answer) : (answers[rest.indexOf(step)] as Answer),
    );
  }),
  claims('lets a shadow claim refuse', 'rejects nothing for a shadow claim', (step) => ({
    ...step,
    binding: true,
  })),
  claims('takes no shadow claim', 'rejects nothing for a shadow claim', (step) =>
    step.binding ? step : { ...step, op: 'look' },
  ),
  mutant('ends a claim in a call of its own only', 'ends claim, permit', (right, group) => {
    const isMixed = group.some(({ op }) => op === 'done') && group.some(({ claim }) => !claim);
    return right.apply(isMixed ? group.map((step) => ({ ...step, op: 'look' })) : group);
  }),
  mutant('does the steps of one claim in reverse', 'does what several steps', (right, group) =>
    right.apply(group.toReversed()).toReversed(),
  ),
  mutant('drops no claim', 'drops a claim at', (right, group) =>
    right.apply(
      group.map((step) => (step.op === 'reset' && step.claim ? { ...step, op: 'look' } : step)),
    ),
  ),
  mutant('drops every claim of a key', 'drops a claim at', (right, group) => {
    for (const { op, claim, ...step } of group) {
      if (op !== 'reset' || step.rule.machine !== 'claims') continue;
      for (const id of ['runs', 'stays', 'done']) {
        right.apply([{ ...step, op, claim: { id, owner: '' } }]);
      }
    }
    return right.apply(group);
  }),
  claims('drops only what runs', 'drops a claim at', (step) => {
    if (step.op !== 'reset') return step;
    return step.claim?.id === 'done' ? { ...step, op: 'look' } : step;
  }),
];

const answers: readonly Mutant[] = [
  tells('tells no owner', ONCE, (answer) => ({ ...answer, owner: '' })),
  tells('tells no end', FREES, (answer) => ({ ...answer, endsUs: 0 })),
  tells('tells no note', KEEPS, (answer) => ({ ...answer, note: '' })),
  tells('says running of what is done', KEEPS, (answer) =>
    answer.state === 'done' ? { ...answer, state: 'running' } : answer,
  ),
  claims('trims notes', KEEPS, (step) => noted(step, (step.claim?.note ?? '').trim())),
  claims('ignores the case of owners', KEEPS, (step) =>
    owned(step, (step.claim?.owner ?? '').toLowerCase()),
  ),
  claims('cuts notes to 255', KEEPS, (step) => noted(step, (step.claim?.note ?? '').slice(0, 255))),
  tells('ends a note at a colon', KEEPS, (answer) => ({
    ...answer,
    note: answer.note.split(':')[0] ?? '',
  })),
  tells('reads notes as JSON', KEEPS, (answer) => ({
    ...answer,
    note: answer.note === 'null' ? '' : answer.note,
  })),
  tells('reads owners as numbers', KEEPS, (answer) => ({
    ...answer,
    owner: /^[\de]+$/.test(answer.owner) ? `${Number(answer.owner)}` : answer.owner,
  })),
];

const mistakes: readonly Mutant[] = [
  claims('takes any cost', WRONGLY, (step) => ({ ...step, cost: 1 })),
  claims('takes a note of any length', WRONGLY, (step) =>
    noted(step, (step.claim?.note ?? '').slice(0, 256)),
  ),
  claims('takes any text as a note', WRONGLY, (step) =>
    noted(step, (step.claim?.note ?? '').replace(/[^ -~]/g, '?')),
  ),
  claims('takes any owner', WRONGLY, (step) =>
    owned(
      step,
      (step.claim?.owner ?? '')
        .replace(/[^\w-]/g, '_')
        .padEnd(16, '_')
        .slice(0, 16),
    ),
  ),
  steps('ignores a claim under another rule', WRONGLY, ({ claim, ...step }) =>
    claim && step.rule.machine === 'claims' ? { ...step, claim } : step,
  ),
  steps('takes what names no claim', WRONGLY, (step) =>
    step.rule.machine === 'claims' && !step.claim && step.op !== 'reset'
      ? { ...step, claim: { id: '', owner: 'o'.repeat(16) } }
      : step,
  ),
  steps('lets another rule stand in', WRONGLY, ({ onStoreError: _, ...step }) => step),
];

/** The memory store, with values that are stored in another way. */
function valued(
  name: string,
  caughtBy: string,
  change: (right: Values, clock: ManualClock) => Partial<Values>,
): Mutant {
  return {
    name,
    caughtBy,
    open(): OpenStore {
      const clock = new ManualClock();
      const { values } = memoryStore({ clock });
      const right: Values = {
        set: (each, bytes, ttlUs) => values.set(each, bytes, ttlUs),
        get: (each) => values.get(each),
      };
      const store = {
        ...memory((step) => step).store,
        values: { ...right, ...change(right, clock) },
      };
      return { store, setTimeUs: (us) => clock.setUs(us) };
    },
  };
}

function named(name: string, change: (name: ValueName) => ValueName): Mutant {
  return valued(name, 'keeps values apart', (right) => ({
    set: (each, bytes, ttlUs) => right.set(change(each), bytes, ttlUs),
    get: (each) => right.get(change(each)),
  }));
}

const values: readonly Mutant[] = [
  valued('keeps bytes as UTF-8', 'keeps the bytes', (right) => ({
    set: (each, bytes, ttlUs) =>
      right.set(each, new TextEncoder().encode(new TextDecoder().decode(bytes)), ttlUs),
  })),
  valued('drops a byte order mark', 'keeps the bytes', (right) => ({
    set: (each, bytes, ttlUs) => right.set(each, bytes[0] === 0xef ? bytes.slice(3) : bytes, ttlUs),
  })),
  valued('keeps nothing of an empty value', 'keeps the bytes', (right) => ({
    set: (each, bytes, ttlUs) => (bytes.length === 0 ? undefined : right.set(each, bytes, ttlUs)),
  })),
  valued('forgets too soon', 'keeps a value for', (right) => ({
    set: (each, bytes, ttlUs) => right.set(each, bytes, Math.max(1, ttlUs - 1_000)),
  })),
  valued('forgets nothing', 'keeps a value for', (right) => ({
    set: (each, bytes, ttlUs) => right.set(each, bytes, Math.max(ttlUs, 90_000_000_000)),
  })),
  valued('keeps the first', 'keeps of one name', (right) => ({
    set: (each, bytes, ttlUs) => (right.get(each) ? undefined : right.set(each, bytes, ttlUs)),
  })),
  valued('keeps what is too large', 'rejects a value', (right) => ({
    set: (each, bytes, ttlUs) => right.set(each, bytes.slice(0, 1_048_576), ttlUs),
  })),
  named('names values by their ids alone', ({ id }) => ({ limiter: '', key: '', id })),
  named('joins key and id with a colon', ({ limiter, key, id }) => ({
    limiter,
    key: '',
    id: `${key}:${id}`,
  })),
  named('ignores case in names', ({ limiter, key, id }) => ({
    limiter,
    key: key.toLowerCase(),
    id: id.toLowerCase(),
  })),
];

export const claimMutants: readonly Mutant[] = [
  ...times,
  ...owners,
  ...names,
  ...groups,
  ...answers,
  ...mistakes,
  ...values,
];
