/** The authentication of examples: it trusts the user that a header names. */

import type { RequestHandler } from 'express';

declare global {
  namespace Express {
    interface Request {
      user?: { id: string; plan: string };
    }
  }
}

export const authenticate: RequestHandler = (req, _res, next) => {
  req.user = { id: req.get('x-user') ?? 'ada', plan: req.get('x-plan') ?? 'free' };
  next();
};
