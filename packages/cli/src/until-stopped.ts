import { setTimeout as delay } from 'node:timers/promises';
import { type CommonOptions, type Connection, connected } from './connection.js';
import { printError } from './output.js';

/**
 * Connects, and calls `look` at intervals until Ctrl-C, which ends the command even if Redis hangs. Of several failures
 * in a row, only the first is printed.
 *
 * @param begin returns `look`; its failure ends the command
 */
export function untilStopped(
  options: CommonOptions,
  everyMs: number,
  begin: (connection: Connection) => Promise<() => Promise<void>>,
): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort());
  }
  return new Promise((resolve, reject) => {
    stop.signal.addEventListener('abort', () => resolve());
    connected({ ...options, reconnects: true }, async (connection) => {
      const look = await begin(connection);
      let isAway = false;
      for (;;) {
        await delay(everyMs, undefined, stop).catch(() => undefined);
        if (stop.signal.aborted) return;
        try {
          await look();
          isAway = false;
        } catch (error) {
          if (!isAway) printError(error, options.json === true);
          isAway = true;
        }
      }
    }).then(resolve, reject);
  });
}
