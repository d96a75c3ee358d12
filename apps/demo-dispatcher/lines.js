/** What the carriers sell: lines. Each takes so many messages a second; North has two lines, and so twice South's rate. */

export const PER_SECOND = 4;

/** In order of preference: South costs more. */
export const LINES = ['north-1', 'north-2', 'south-1'];

/** A line with a longer queue is passed over for the next one. */
export const MAX_WAIT_MS = 500;

export const WORKERS = 8;

export const carrierOf = (line) => line.split('-')[0];

export const linesOf = (carrier) => LINES.filter((line) => carrierOf(line) === carrier);
