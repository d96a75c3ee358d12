/** Sees the body of a request of node:http, and the answer of its handler. */

import type {
  AnswerWatcher,
  BodyEnd,
  BodyLimits,
  BodyWatcher,
  Recorder,
} from '../contract/recorder.js';
import { queryOf } from '../net/target.js';
import { type NodeAnswer, watchAnswer } from './answer.js';
import { type NodeBody, readBody, watchBody } from './body.js';

export class NodeRecorder implements Recorder {
  private readonly req: NodeBody & { readonly url?: string; readonly body?: unknown };
  private readonly res: NodeAnswer & { shouldKeepAlive?: boolean };

  constructor(req: object, res: object) {
    this.req = req as NodeRecorder['req'];
    this.res = res as NodeRecorder['res'];
  }

  get query(): string {
    return queryOf(this.req.url ?? '/');
  }

  /** Where Express, Koa, Fastify and their like put it. One that nobody has read was set to something else. */
  parsedBody(): unknown {
    return this.req.readableDidRead ? this.req.body : undefined;
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

  watchAnswer(watcher: AnswerWatcher): void {
    watchAnswer(this.res, watcher);
  }
}
