/** Sees the body of a request that Hono may have read before the guard. */

import { type BodyWatcher, type Recorder, showBytes } from '@spillway/core/adapter';
import type { Context } from 'hono';

/** What Hono keeps of a body as it was sent. Of a form it keeps what it has made of it. */
const WHOLE = ['text', 'arrayBuffer', 'blob', 'json'];

/** The recorder of the world below, which is told of a body that was read by `c.req` before. */
export function withCachedBody(recorder: Recorder, { req }: Context): Recorder {
  const [read] = Object.keys(req.bodyCache);
  if (!read || !WHOLE.includes(read)) return recorder;
  const show = async (watcher: BodyWatcher): Promise<boolean> => {
    try {
      await showBytes(watcher, new Uint8Array(await req.arrayBuffer()));
      watcher.end();
      return true;
    } catch {
      return false; // it could not be read
    }
  };
  recorder.watchBody = async (watcher) => void (await show(watcher));
  recorder.readBody = async (watcher) => ((await show(watcher)) ? 'whole' : 'unknown');
  return recorder;
}
