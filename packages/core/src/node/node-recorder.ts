import type {
  BodyEnd,
  BodyLimits,
  BodyWatcher,
  Recorder,
  ResponseWatcher,
  Sender,
} from '../contract/recorder.js';
import { queryOf } from '../net/target.js';
import { type NodeAnswer, watchResponse } from './answer.js';
import { type NodeBody, readBody, watchBody } from './body.js';
import type { NodeRequest } from './node-exchange.js';

export class NodeRecorder implements Recorder {
  private readonly req: NodeBody & NodeRequest;
  private readonly res: NodeAnswer & { shouldKeepAlive?: boolean };
  private readonly target: string;
  private readonly parsed: () => unknown;
  private readonly sender: Sender | undefined;

  constructor(req: object, res: object, target: string, parsed: () => unknown, sender?: Sender) {
    this.req = req as NodeRecorder['req'];
    this.target = target;
    this.res = res as NodeRecorder['res'];
    this.parsed = parsed;
    this.sender = sender;
  }

  get query(): string {
    return queryOf(this.target);
  }

  // HTTP/2 sends the host in `:authority`.
  get host(): string {
    const { headers } = this.req;
    return String(headers[':authority'] ?? headers['host'] ?? '');
  }

  // Undefined if the body was not read, because `parsed` then returns a framework default.
  parsedBody(): unknown {
    return this.req.readableDidRead ? this.parsed() : undefined;
  }

  watchBody(watcher: BodyWatcher): void {
    watchBody(this.req, watcher);
  }

  async readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd> {
    const end = await readBody(this.req, watcher, limits);
    // On a connection that is kept alive, the unread rest would be parsed as the next request.
    if (end === 'too-large' || end === 'late') this.res.shouldKeepAlive = false;
    return end;
  }

  watchResponse(watcher: ResponseWatcher): void {
    watchResponse(this.req, this.res, watcher, this.sender);
  }
}
