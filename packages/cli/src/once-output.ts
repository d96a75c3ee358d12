import type { IdempotencyKeyState } from '@spillway/core/store';
import { plain } from './plain.js';
import { untilOf } from './table.js';

/** How the request's body was compared, by the letter in the stored claim. */
const KINDS = { r: 'its bytes', p: 'as parsed', o: 'parts that the app chose' };

export function claimTable(seen: IdempotencyKeyState, withBody: boolean, nowMs: number): string {
  const { state, owner, leftMs, answer } = seen;
  if (state === 'free')
    return 'The key is free: no request with it is running, and no response is stored.';
  const rows = [
    ['state', state],
    ['owner', owner],
    [state === 'running' ? 'free at' : 'stored until', untilOf(nowMs + leftMs, nowMs)],
    ...(state === 'done' ? requestRows(seen) : []),
    ...(state === 'done' ? answerRows(seen) : []),
  ];
  const lines = rows.map(([name = '', value = '']) => `${name.padEnd(14)}${plain(value)}`);
  if (withBody && answer?.body) {
    const text = new TextDecoder().decode(answer.body);
    lines.push('', ...text.split('\n').map(plain));
  }
  return lines.join('\n');
}

function requestRows({ note }: IdempotencyKeyState): string[][] {
  if (!note) return [['request', 'unknown: it was stored by a later version']];
  const { head, body, length } = note;
  const said = length === '' ? '' : `, ${length} bytes`;
  return [
    ['request', `${head} (method, host, path, query, media type, encoding)`],
    ['', bodyText(body, said)],
  ];
}

function bodyText(body: NonNullable<IdempotencyKeyState['note']>['body'], said: string): string {
  if (!body) return `body not seen${said}`;
  if (body.kind === 'x') return `body that cannot be compared${said}`;
  return `${body.digest} (body: ${KINDS[body.kind]}${said})`;
}

function answerRows({ note, answer, size }: IdempotencyKeyState): string[][] {
  if (!answer) {
    const why = note && !note.isStored ? 'none: it could not be stored' : 'none that can be read';
    return [['response', size > 0 ? `${why}, ${size} bytes` : why]];
  }
  const { status, fields, body } = answer;
  const stored = body ? `body of ${body.length} bytes` : 'no body stored';
  const rows = fields.map(([name, value]) => ['', `${name}: ${value}`]);
  return [['response', `${status}, ${stored}; ${size} bytes in all`], ...rows];
}

/** If the body is not valid UTF-8, `body` is null and `bodyBase64` has the bytes. */
export function claimJson(seen: IdempotencyKeyState, withBody: boolean): object {
  const { answer, ...rest } = seen;
  if (!answer) return { ...rest, note: rest.note ?? null, answer: null };
  const { status, fields, body } = answer;
  const bodySize = body ? body.length : null;
  const shown = { status, fields, bodySize, ...(withBody && body && bodyJson(body)) };
  return { ...rest, note: rest.note ?? null, answer: shown };
}

function bodyJson(body: Uint8Array): object {
  const bodyBase64 = Buffer.from(body).toString('base64');
  try {
    return { body: new TextDecoder('utf-8', { fatal: true }).decode(body) };
  } catch {
    return { body: null, bodyBase64 };
  }
}
