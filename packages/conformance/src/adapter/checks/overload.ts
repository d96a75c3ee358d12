import { claim, eventually, hasStatus } from '../assertions.js';
import { after, CONCURRENCY, FLEET, FULL, refusedInFront, WORKERS } from '../policies.js';
import type { Caller, Visit } from '../visit.js';
import type { Opened, Reply } from '../wire.js';
import { isCharge } from './answers.js';
import { isExposed, ORIGIN } from './browsers.js';
import { type Sentence, times } from './sentence.js';

export const fleet: readonly Sentence[] = [
  ['rejects with 503 while the fleet is full, and does not reveal its size', refusesWhenFull],
  ['lets critical requests pass while the fleet is full', passesCritical],
  ['answers what is skipped while the fleet is full', answersSkipped],
  ['names every limit that rejects, and answers for the one that the caller can act on', namesAll],
  ['is open again when those who filled the fleet are gone', opensAgain],
];

export const workers: readonly Sentence[] = [
  ['sheds with 503 what is not critical while the process is busy, then recovers', shedsWhenBusy],
];

interface Crowd {
  readonly callers: readonly Caller[];
  readonly streams: readonly Opened[];
}

/**
 * Takes the 16 permits that are not reserved for critical requests: three callers take five each, a fourth takes one.
 */
async function fill(visit: Visit): Promise<Crowd> {
  const callers = times(4).map(() => visit.caller());
  const streams: Opened[] = [];
  for (const index of times(16)) {
    const caller = callers[Math.floor(index / 5)] as Caller;
    // Requests of the previous check may still be ending.
    streams.push(await eventually(() => caller.streams()));
  }
  return { callers, streams };
}

async function refusesWhenFull(visit: Visit): Promise<void> {
  await fill(visit);
  const caller = visit.caller();
  isExposed(await caller.refused('/', FLEET, FULL, { headers: ORIGIN }));
  await caller.refused('/', FLEET, FULL, { method: 'HEAD' });
  await visit
    .caller({ address: caller.address })
    .refused('/things', FLEET, refusedInFront(FULL, visit.settings.oneGuard));
}

async function passesCritical(visit: Visit): Promise<void> {
  await fill(visit);
  const caller = visit.caller();
  await caller.refused('/', FLEET, FULL);
  for (const index of times(6)) {
    const reply = await caller.passes('/charges', after(index + 1), { method: 'POST' }, 201);
    isCharge(reply);
  }
}

async function answersSkipped(visit: Visit): Promise<void> {
  const { callers } = await fill(visit);
  const reply = await (callers[0] as Caller).ask('/health');
  hasStatus(reply, 200);
  visit.showsQuotas(reply, undefined);
}

async function namesAll(visit: Visit): Promise<void> {
  const { callers } = await fill(visit);
  const both = { ...CONCURRENCY, violated: ['fleet', 'in-flight'] };
  await (callers[0] as Caller).refused('/', both, { inFlight: 0, perAddress: 55 });
}

async function opensAgain(visit: Visit): Promise<void> {
  const { streams } = await fill(visit);
  const caller = visit.caller();
  await caller.refused('/', FLEET, FULL);
  for (const stream of streams) stream.abort();
  await eventually(async () => hasStatus(await caller.ask('/', { method: 'HEAD' }), 200));
  await fill(visit);
}

async function shedsWhenBusy(visit: Visit): Promise<void> {
  const end = performance.now() + 10_000;
  let shed: Reply | undefined;
  const untilShed = async (path: string, method: string, status: number): Promise<void> => {
    while (!shed && performance.now() < end) {
      const { headers } = visit.caller();
      const reply = await visit.wire.request(path, { method, headers });
      if (reply.status === 503 && reply.body.includes('workers') && method === 'GET') shed = reply;
      // Requests of the previous check may still be ending.
      else if (!reply.body.includes('"fleet"')) hasStatus(reply, status);
    }
  };
  const burners = times(6).map(() => untilShed('/report?ms=50', 'GET', 200));
  await Promise.all([...burners, untilShed('/charges', 'POST', 201)]);
  claim(shed !== undefined, () => 'GET /report: a busy process sheds nothing');
  visit.showsRefusal(shed, WORKERS, undefined);
  await visit.caller().passes('/', after(1));
}
