/**
 * The fraction that a worker shedder rejects during and after an overload of two minutes, computed by the model in
 * tests/model.
 */

import { type Loops, run } from '../../tests/model/scenarios.js';
import { bar, line, type Point, path, svg, text } from './svg.js';

const SECONDS = 240;
const SEED = 101;
const [LEFT, TOP, WIDTH, HEIGHT] = [60, 60, 690, 190];
const xOf = (second: number): number => LEFT + (second / SECONDS) * WIDTH;
const yOf = (fraction: number): number => TOP + (1 - fraction) * HEIGHT;

export function overload(): string {
  const shapes = [
    text(16, 26, 'Rejected of all requests, in each 2 seconds', 'title'),
    bar([xOf(0), TOP], xOf(120) - xOf(0), HEIGHT, 'load'),
    text(xOf(60), TOP + 18, 'twice what the process can serve', 'quiet middle'),
    text(xOf(180), TOP + 18, '0.6 of it', 'quiet middle'),
    path(rejectedBy('ladder'), 'b-line'),
    path(rejectedBy('both'), 'a-line'),
    line([LEFT, yOf(0)], [LEFT + WIDTH, yOf(0)], 'axis'),
  ];
  for (const percent of [0, 25, 50, 75, 100]) {
    shapes.push(text(LEFT - 8, yOf(percent / 100) + 4, `${percent} %`, 'quiet end'));
  }
  for (const second of [0, 60, 120, 180, 240]) {
    shapes.push(text(xOf(second), yOf(0) + 20, `${second} s`, 'quiet middle'));
  }
  const legend = TOP + HEIGHT + 46;
  shapes.push(
    line([LEFT, legend - 4], [LEFT + 24, legend - 4], 'a-line'),
    text(LEFT + 32, legend, 'ladder and brake', 'quiet'),
    line([LEFT + 170, legend - 4], [LEFT + 194, legend - 4], 'b-line'),
    text(LEFT + 202, legend, 'ladder alone', 'quiet'),
  );
  const alternative =
    'The fraction of requests rejected in an overload of two minutes and in the two minutes after it';
  return svg(780, legend + 18, alternative, shapes);
}

function rejectedBy(loops: Loops): Point[] {
  const { rejected } = run('aftermath', loops, SEED);
  return Array.from({ length: SECONDS / 2 }, (_, at): Point => {
    const bins = rejected.slice(at * 20, at * 20 + 20);
    return [xOf(at * 2 + 1), yOf(bins.reduce((sum, share) => sum + share, 0) / bins.length)];
  });
}
