import type {
  BodyEnd,
  BodyLimits,
  BodyWatcher,
  Recorder,
  ResponseWatcher,
  ShownResponse,
} from '../contract/recorder.js';
import { hostOf, queryOf } from '../net/target.js';
import { watchResponse } from './answer.js';
import { readBody, watchBody } from './body.js';
import type { WebRequest, WebResponse } from './web.js';

export class FetchRecorder implements Recorder {
  private readonly request: WebRequest;
  private readonly show: (answer: ShownResponse) => void;

  /** @param show receives the object that records the handler's response */
  constructor(request: WebRequest, show: (answer: ShownResponse) => void) {
    this.request = request;
    this.show = show;
  }

  get query(): string {
    return queryOf(this.request.url);
  }

  // Runtimes build the URL from the host that the client sent.
  get host(): string {
    return hostOf(this.request.url);
  }

  parsedBody(): unknown {
    return undefined;
  }

  watchBody(watcher: BodyWatcher): void {
    watchBody(this.request, watcher);
  }

  readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd> {
    return readBody(this.request, watcher, limits);
  }

  watchResponse(watcher: ResponseWatcher): void {
    this.show({
      see: <Res>(response: Res, sendsBody: boolean) =>
        watchResponse(response as Res & WebResponse, watcher, this.request.signal, sendsBody),
      fail: () => watcher.fail(),
    });
  }
}
