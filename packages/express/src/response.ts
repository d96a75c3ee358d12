/** What an admission does to a response: fields, the answer to a refused request, release when it has closed. */

import { type Admission, mergeFields } from '@spillway/core';
import type { Request, Response } from 'express';

/** Sets the fields of an admission and, if it is a refusal, the status. A response that has begun is left as it is. */
export function writeHead(admission: Admission, res: Response, withType: boolean): void {
  if (res.headersSent) return;
  for (const [name, value] of mergeFields(admission.fields, (field) => res.getHeader(field))) {
    if (withType || name !== 'Content-Type') res.setHeader(name, value);
  }
  if (!admission.allowed) res.statusCode = admission.status;
}

/** Ends the response of a refused request. */
export function endRefused({ body }: Admission, res: Response): void {
  if (res.writableEnded) return;
  if (res.headersSent) {
    res.end();
    return;
  }
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.end(body); // Node leaves the body out for HEAD
}

/** Whether nobody waits for the response any more. */
export function isGone(req: Request, res: Response): boolean {
  return res.closed || res.destroyed || req.socket.destroyed;
}

/** Releases an admission when the response has closed, in whatever way, or at once if it has. */
export function releaseOnClose(admission: Admission, req: Request, res: Response): void {
  const release = (): void => {
    const aborted = !res.writableFinished;
    // Until the head was sent, the status is only Node's default.
    admission.release(res.headersSent ? { status: res.statusCode, aborted } : { aborted });
  };
  if (isGone(req, res)) {
    release();
    return;
  }
  res.once('close', release);
  // A response that waits behind another of its connection (pipelining) is not told when that connection closes.
  if (res.socket === null) {
    const { socket } = req;
    socket.once('close', release);
    res.once('close', () => socket.removeListener('close', release));
  }
}
