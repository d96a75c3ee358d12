import { type BodyWatcher, type Recorder, showBytes } from '@spillway/core/adapter';
import type { Context } from 'hono';

/** The entries of Hono's body cache that hold the whole body. For a form, Hono caches only the parsed fields. */
const WHOLE = ['text', 'arrayBuffer', 'blob', 'json'];

/** Reads the body from Hono's cache, if `c.req` has consumed it before the guard. */
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
