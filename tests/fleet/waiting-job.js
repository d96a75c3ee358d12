/** A process with nothing but a job that waits: it stays alive until the job has run, and no longer. */

import { createShaper } from '@spillway/outgoing';

const shaper = createShaper({ limit: 4, window: '1s', maxWait: '1h' });
for (let i = 0; i < 3; i += 1) shaper.schedule('acme', () => process.stdout.write('ran '));
// Neither an unused slot nor an aborted job keeps a process alive.
const abort = new AbortController();
for (let i = 0; i < 300; i += 1) await shaper.reserve('acme');
const late = shaper.schedule('acme', () => undefined, { signal: abort.signal });
abort.abort('aborted ');
late.catch((reason) => process.stdout.write(reason));
