/** Records the body of a request, even if Hono has read it before the guard. */

import { type BodyWatcher, type Recorder, showBytes } from '@spillway/core/adapter';
import type { Context } from 'hono';

/** The entries of Hono's body cache that hold the whole body. Forms don't: Hono caches only the parsed form. */
const WHOLE = ['text', 'arrayBuffer', 'blob', 'json'];

/** Makes a recorder read the body from Hono's cache, if `c.req` has consumed it already. */
export function withCachedBody(recorder: Recorder, { req }: Context): Recorder {
  const [read] = Object.keys(req.bodyCache);
  if (!read || !WHOLE.includes(read)) return recorder;
  const show = async (watcher: BodyWatcher): Promise<boolean> => {
    try {
      await showBytes(watcher, new Uint8Array(await req.arrayBuffer()));
      watcher.end();
      return true;
    } catch {
      return false; // the body could not be read
    }
  };
  recorder.watchBody = async (watcher) => void (await show(watcher));
  recorder.readBody = async (watcher) => ((await show(watcher)) ? 'whole' : 'unknown');
  return recorder;
}
