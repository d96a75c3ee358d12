import { setTimeout as delay } from 'node:timers/promises';
import { type CommonOptions, type Connection, connected } from './connection.js';
import { printError } from './output.js';

/**
 * Connects, and calls `look` at intervals until Ctrl-C. Of several failures in a row, only the first is printed.
 *
 * @param begin returns `look`; its failure ends the command
 */
export function untilStopped(
  options: CommonOptions,
  everyMs: number,
  begin: (connection: Connection) => Promise<() => Promise<void>>,
): Promise<void> {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve());
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort());
  }
  return connected({ ...options, reconnects: true }, async (connection) => {
    const look = await begin(connection);
    let isAway = false;
    for (;;) {
      await delay(everyMs, undefined, stop).catch(() => undefined);
      if (stop.signal.aborted) return;
      const looked = look().then(
        () => {
          isAway = false;
        },
        (error: unknown) => {
          if (!isAway) printError(error, options.json === true);
          isAway = true;
        },
      );
      // Redis may hang, so Ctrl-C doesn't wait for its answer.
      await Promise.race([looked, stopped]);
    }
  });
}
