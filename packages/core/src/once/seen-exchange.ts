import type { RecordedExchange, StoredExchange } from '../contract/keeping.js';
import type { Recorder, Recorders } from '../contract/recorder.js';
import { FetchRecorder } from '../fetch/fetch-recorder.js';
import type { WebRequest } from '../fetch/web.js';
import { NodeRecorder } from '../node/node-recorder.js';
import { admissionsOf } from '../passage/gate.js';

/** The request and response as `idempotency()` sees them. The recorder is created only if the request has a key. */
export function seenExchange(exchange: RecordedExchange, holder: object): StoredExchange {
  let made: Recorder | undefined;
  return {
    holder,
    get recorder() {
      made ??= exchange.recorder?.(RECORDERS) as Recorder;
      return made;
    },
    isGone: () => exchange.isGone(),
    isAnswered: () => admissionsOf(holder).some(({ allowed }) => !allowed),
  };
}

const RECORDERS: Recorders = {
  node: (...of) => new NodeRecorder(...of),
  fetch: (request, show) => new FetchRecorder(request as WebRequest, show),
};
