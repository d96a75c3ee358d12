/** The four limiters that a request passes, from top to bottom, and the status with which each of them rejects. */

import { line, type Point, path, rectangle, svg, text } from './svg.js';

const LIMITERS = [
  ['workerShedder', 'Is this process overloaded?', '503'],
  ['fleetShedder', 'Is the fleet nearly full?', '503'],
  ['concurrencyLimit', 'Too many of this caller in flight?', '429'],
  ['rateLimit', 'Too many from this caller?', '429'],
] as const;

export function limiters(): string {
  const [left, width, height, gap] = [24, 276, 56, 26];
  const middle = left + width / 2;
  const right = left + width;
  const shapes = [
    text(middle, 26, 'request', 'title middle'),
    ...arrow([middle, 34], [middle, 58]),
  ];
  for (const [at, [name, question, status]] of LIMITERS.entries()) {
    const y = 60 + at * (height + gap);
    shapes.push(
      rectangle([left, y], width, height, 'box'),
      text(middle, y + 23, name, 'code middle'),
      text(middle, y + 42, question, 'quiet middle'),
      ...arrow([right, y + height / 2], [right + 44, y + height / 2]),
      text(right + 52, y + height / 2 + 5, `yes: ${status}`, 'title'),
      ...arrow([middle, y + height], [middle, y + height + gap - 2]),
      text(middle + 8, y + height + 17, 'no', 'quiet'),
    );
  }
  const bottom = 60 + LIMITERS.length * (height + gap);
  shapes.push(text(middle, bottom + 16, 'your handler', 'title middle'));
  shapes.push(
    text(left, bottom + 46, 'One decision, one round trip: if one rejects, none is charged.'),
  );
  const alternative =
    'A request passes four limiters: two load shedders reject with 503, two limits of a caller with 429';
  return svg(440, bottom + 64, alternative, shapes);
}

/** A line with an arrowhead at its end. */
function arrow(from: Point, to: Point): string[] {
  const isDown = from[0] === to[0];
  const [x, y] = to;
  const head: Point[] = isDown
    ? [[x - 4, y - 6], to, [x + 4, y - 6]]
    : [[x - 6, y - 4], to, [x - 6, y + 4]];
  return [line(from, to, 'axis'), path(head, 'head')];
}
