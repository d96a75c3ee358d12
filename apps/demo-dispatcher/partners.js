/** The partners: how many messages each accepts per second and at the same time, and how long it works on one. */

export const PARTNERS = {
  north: { limit: 8, maxConcurrent: 4, workMs: 200 },
  south: { limit: 4, maxConcurrent: 2, workMs: 300 },
  west: { limit: 20, maxConcurrent: 1, workMs: 150 },
};

export const NAMES = Object.keys(PARTNERS);

export const WORKERS = 8;
