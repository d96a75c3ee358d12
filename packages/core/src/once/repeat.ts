/** What a request gets whose key is claimed already: the answer that was kept, or a refusal. */

import { isThenable } from '../base/host.js';
import type { Result } from '../base/within.js';
import type { ClaimsAnswer } from '../contract/ask.js';
import type { Decision, Reason } from '../contract/decision.js';
import type { KeepContext, KeptExchange, LimiterTurn, Settled } from '../contract/limiter.js';
import type { Field } from '../contract/request.js';
import type { Step } from '../contract/store.js';
import { compare } from './comparison.js';
import type { Comparing } from './fingerprint.js';
import { inTime } from './in-time.js';
import { noteIn } from './note.js';
import type { Settings } from './options.js';
import { type AnswerRecord, decodeRecord } from './record.js';

const REPLAYED: Field = ['Idempotency-Replayed', 'true'];

/** @param own the digest of the parts that the app chose */
export async function repeat<Raw>(
  turn: LimiterTurn<Raw>,
  exchange: KeptExchange,
  context: KeepContext,
  settings: Settings<Raw>,
  own: string | undefined,
  comparing: Comparing,
): Promise<Settled> {
  const { request, decision } = turn;
  const answer = turn.answer as ClaimsAnswer;
  const note = noteIn(answer.note);
  if (!note) return refused(decision, 'not-kept');
  const compared = await compare(note, request, exchange.recorder, own, comparing);
  if (compared !== 'same') {
    const statuses = { other: settings.mismatchStatus, 'too-large': 413, late: 408 };
    return refused(decision, 'mismatch', statuses[compared]);
  }
  const { limiter, key } = turn.step as Step;
  const name = { limiter, key, id: answer.owner };
  const asked = inTime(context.storeTimeoutMs, (deadlineUs) =>
    context.values.get(name, { deadlineUs }),
  );
  const found: Result<Uint8Array | undefined> = isThenable(asked) ? await asked : asked;
  if ('error' in found) {
    context.fault({ limiter: settings.name, source: 'store', error: found.error });
    return unanswered(decision);
  }
  return answered(decision, found.value && decodeRecord(found.value));
}

function answered(decision: Decision, record: AnswerRecord | undefined): Settled {
  if (!record) return refused(decision, 'not-kept');
  const { status, fields, body } = record;
  if (body) return { decision, answer: { status, fields: [...fields, REPLAYED], body } };
  const places = fields.filter(([name]) => name === 'Location');
  return { ...refused(decision, 'not-kept'), fields: places };
}

function refused(decision: Decision, reason: Reason, status?: number): Settled {
  return {
    decision: { ...decision, outcome: 'denied', reason, status, retryAfterMs: Infinity },
  };
}

/** It was done, so it must not run again: the repeat is to come later, whatever `onStoreError` says. */
function unanswered(decision: Decision): Settled {
  return {
    decision: { ...decision, outcome: 'error', reason: 'store-error', retryAfterMs: Number.NaN },
  };
}
