/** Sees the body of a fetch request, and the answer of its handler. */

import type {
  AnswerWatcher,
  BodyEnd,
  BodyLimits,
  BodyWatcher,
  Recorder,
} from '../contract/recorder.js';
import { hostOf, queryOf } from '../net/target.js';
import { readBody, watchBody } from './body.js';
import type { WebRequest } from './web.js';

export class FetchRecorder implements Recorder {
  private readonly request: WebRequest;
  private readonly show: (watcher: AnswerWatcher) => void;

  /** @param show has the answer shown, when there is one */
  constructor(request: WebRequest, show: (watcher: AnswerWatcher) => void) {
    this.request = request;
    this.show = show;
  }

  get query(): string {
    return queryOf(this.request.url);
  }

  /** Runtimes make the URL with the host that the client named. */
  get host(): string {
    return hostOf(this.request.url);
  }

  /** Fetch keeps no parsed body: a request that was read has none. */
  parsedBody(): unknown {
    return undefined;
  }

  watchBody(watcher: BodyWatcher): void {
    watchBody(this.request, watcher);
  }

  readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd> {
    return readBody(this.request, watcher, limits);
  }

  watchAnswer(watcher: AnswerWatcher): void {
    this.show(watcher);
  }
}
