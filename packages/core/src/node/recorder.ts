/** Sees the body of a request of node:http, and the answer of its handler. */

import type {
  BodyEnd,
  BodyLimits,
  BodyWatcher,
  Recorder,
  ResponseWatcher,
} from '../contract/recorder.js';
import { queryOf } from '../net/target.js';
import { type NodeAnswer, watchResponse } from './answer.js';
import { type NodeBody, readBody, watchBody } from './body.js';

export class NodeRecorder implements Recorder {
  private readonly req: NodeBody;
  private readonly res: NodeAnswer & { shouldKeepAlive?: boolean };
  private readonly target: string;
  private readonly parsed: () => unknown;

  /**
   * @param target the request's target as it was sent
   * @param parsed what a parser has made of the body, wherever the framework keeps it
   */
  constructor(req: object, res: object, target: string, parsed: () => unknown) {
    this.req = req as NodeRecorder['req'];
    this.target = target;
    this.res = res as NodeRecorder['res'];
    this.parsed = parsed;
  }

  get query(): string {
    return queryOf(this.target);
  }

  /** HTTP/2 has the host in a field of its own. */
  get host(): string {
    const { headers } = this.req;
    return String(headers[':authority'] ?? headers['host'] ?? '');
  }

  /** Of a body that nobody has read, what is there was not made of it. */
  parsedBody(): unknown {
    return this.req.readableDidRead ? this.parsed() : undefined;
  }

  watchBody(watcher: BodyWatcher): void {
    watchBody(this.req, watcher);
  }

  async readBody(watcher: BodyWatcher, limits: BodyLimits): Promise<BodyEnd> {
    const end = await readBody(this.req, watcher, limits);
    // What is left of it would be taken for the next request.
    if (end === 'too-large' || end === 'late') this.res.shouldKeepAlive = false;
    return end;
  }

  watchResponse(watcher: ResponseWatcher): void {
    watchResponse(this.res, watcher);
  }
}
