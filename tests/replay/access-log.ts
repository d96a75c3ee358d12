/** Requests to replay: from a real access log if it is available, otherwise generated in its likeness. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

export interface LoggedRequest {
  readonly client: string;
  readonly timeUs: number;
}

/** Nine days of nginx in front of a data server (MIT licence beside it); file 9 is the oldest. */
export const LOG_FOLDER: string = join(
  import.meta.dirname,
  '../../../shared/data/erddap-nginx-2024',
);
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const LINE = /^(\S+) \S+ \S+ \[(\d+)\/(\w+)\/(\d+):(\d+):(\d+):(\d+) \+0000\] "/;

/** The real log; undefined if it is not available. */
export function realLog(): LoggedRequest[] | undefined {
  if (!existsSync(LOG_FOLDER)) return undefined;
  const files = readdirSync(LOG_FOLDER).filter((name) => name.endsWith('.gz'));
  const requests: LoggedRequest[] = [];
  for (const file of files.sort().reverse()) {
    const text = gunzipSync(readFileSync(join(LOG_FOLDER, file))).toString('utf8');
    for (const line of text.split('\n')) {
      const match = LINE.exec(line);
      if (!match) continue; // the rest of a request that held a line break
      const [, client = '', day, month = '', year, hour, minute, second] = match;
      const ms = Date.UTC(
        Number(year),
        MONTHS.indexOf(month),
        Number(day),
        Number(hour),
        Number(minute),
        Number(second),
      );
      requests.push({ client, timeUs: ms * 1000 });
    }
  }
  return requests;
}

/** Bursts of a few busy clients and a long tail of rare ones, by a fixed seed. */
export function madeUpLog(count: number): LoggedRequest[] {
  let state = 20_240_512;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  let timeUs = Date.UTC(2024, 4, 12) * 1000;
  return Array.from({ length: count }, () => {
    timeUs += random() < 0.7 ? 0 : Math.floor(random() ** 4 * 40) * 1_000_000;
    return { client: `198.51.100.${Math.floor(random() ** 6 * 250)}`, timeUs };
  });
}
