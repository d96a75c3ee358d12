/** What sees bodies and answers, in each of the two HTTP worlds. */

import type { Recorders } from '../contract/recorder.js';
import { FetchRecorder } from '../fetch/recorder.js';
import type { WebRequest } from '../fetch/web.js';
import { NodeRecorder } from '../node/recorder.js';

export const RECORDERS: Recorders = {
  node: (...of) => new NodeRecorder(...of),
  fetch: (request, show) => new FetchRecorder(request as WebRequest, show),
};
