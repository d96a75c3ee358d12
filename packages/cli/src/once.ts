import {
  dropIdempotencyKey,
  type IdempotencyKeyState,
  readIdempotencyKey,
} from '@spillway/core/store';
import type { RedisControl } from '@spillway/redis';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
import { keyFrom } from './keys.js';
import { type AnywayOption, limitersNamed } from './known.js';
import { claimJson, claimTable } from './once-output.js';
import { print, printJson } from './output.js';
import { plain } from './plain.js';
import { UsageError } from './usage-error.js';

interface ClaimOptions extends CommonOptions, AnywayOption {
  readonly limiter: string;
  readonly scope: string;
  readonly key: string;
}

interface ShowOptions extends ClaimOptions {
  readonly body?: true;
}

interface DropOptions extends ClaimOptions {
  readonly because: string;
  readonly by?: string;
  readonly running?: true;
}

const FREE = 'Nothing was dropped: the key is free.';
const CHANGED =
  'nothing was dropped: the key has changed meanwhile. Check it with: spillway once show';
const MAX_HISTORY_KEY = 1_024;
const DROPPED =
  'Done: the key is free, and its response is deleted. The next request with it runs.';

export function showClaim(options: ShowOptions): Promise<void> {
  const withBody = options.body === true;
  return connected(options, async ({ control, store }) => {
    await checkIdempotency(control, options);
    const seen = await readIdempotencyKey(store, options);
    if (options.json) printJson({ once: claimJson(seen, withBody) });
    else print(claimTable(seen, withBody, Date.now()));
  });
}

export function dropClaim(options: DropOptions): Promise<void> {
  const { limiter, scope, key } = options;
  const note = { by: authorOf(options.by), because: options.because };
  return connected({ ...options, isChange: true }, async ({ control, store }) => {
    await checkIdempotency(control, options);
    const seen = await readIdempotencyKey(store, options);
    rejectRunning(seen, options);
    if (seen.state !== 'free') {
      const named = `${keyFrom(scope, {})} ${key}`.slice(0, MAX_HISTORY_KEY);
      await control.forget(limiter, named, note); // before the drop, because every drop must be in the history
      if (!(await dropIdempotencyKey(store, options, seen))) throw new Error(CHANGED);
    }
    const { state } = seen;
    if (options.json) printJson({ dropped: state === 'free' ? null : { state } });
    else print(state === 'free' ? FREE : DROPPED);
  });
}

/**
 * Rejects a name whose limiters have no claims, because every key would be shown as free.
 *
 * @throws UsageError if limiters of this name have numbers, but none is an `idempotency()`. Without `anyway`, also if
 * no process has announced the name.
 */
async function checkIdempotency(control: RedisControl, options: ClaimOptions): Promise<void> {
  const named = await limitersNamed(control, options.limiter, options);
  const declared = named?.flatMap((one) => one.declared) ?? [];
  if (declared.length === 0 || declared.some(({ algorithm }) => algorithm === 'claims')) return;
  throw new UsageError(
    `${plain(options.limiter)} is not an idempotency(): give its name with --limiter (default: once)`,
  );
}

function rejectRunning({ state, leftMs }: IdempotencyKeyState, { running }: DropOptions): void {
  if (state !== 'running' || running) return;
  const seconds = Math.ceil(leftMs / 1000);
  throw new UsageError(
    `a request with this key is running. If its process has died, the key is free in ${seconds} s. ` +
      'If you drop it now, a second request may run at the same time: add --running to do that',
  );
}
