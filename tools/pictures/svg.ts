/** The few shapes that the pictures are made of. Each picture draws its background, so it is legible on any page. */

const STYLE = `
    .ground { fill: #fff } text { fill: #24292f; font: 13px system-ui, "Liberation Sans", sans-serif }
    .title { font-weight: 600 } .quiet { fill: #57606a } .end { text-anchor: end } .middle { text-anchor: middle }
    .axis { stroke: #8c959f; stroke-width: 1 } .edge { stroke: #8c959f; stroke-dasharray: 3 4 }
    .load { fill: #8c959f; fill-opacity: .25 }
    .a { fill: #0969da } .b { fill: #bc4c00 } .a-line { stroke: #0969da } .b-line { stroke: #bc4c00 }
    .a-line, .b-line { fill: none; stroke-width: 2 } .head { fill: none; stroke: #8c959f; stroke-width: 1.5 } .no { fill: none; stroke: #cf222e; stroke-width: 1.5 }
    .other { fill: #8c959f } .box { fill: none; stroke: #8c959f; stroke-width: 1.5 }
    .code { font-family: Menlo, Consolas, "Liberation Mono", monospace }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #161b22 } text { fill: #e6edf3 } .quiet { fill: #9ea7b3 }
      .a { fill: #58a6ff } .b { fill: #f0883e } .a-line { stroke: #58a6ff } .b-line { stroke: #f0883e }
      .no { stroke: #ff7b72 }
    }`;

export type Point = readonly [x: number, y: number];

/** @param alternative the text for readers who cannot see the picture */
export function svg(width: number, height: number, alternative: string, shapes: string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `  <title>${escaped(alternative)}</title>`,
    `  <style>${STYLE}\n  </style>`,
    `  <rect class="ground" width="${width}" height="${height}" rx="8"/>`,
    ...shapes.map((shape) => `  ${shape}`),
    '</svg>\n',
  ].join('\n');
}

export const text = (x: number, y: number, words: string, kind = ''): string =>
  `<text${classOf(kind)} x="${number(x)}" y="${number(y)}">${escaped(words)}</text>`;

export const line = (from: Point, to: Point, kind: string): string =>
  `<line${classOf(kind)} x1="${number(from[0])}" y1="${number(from[1])}" x2="${number(to[0])}" y2="${number(to[1])}"/>`;

export const path = (points: readonly Point[], kind: string): string =>
  `<polyline${classOf(kind)} points="${points.map((it) => it.map(number).join(',')).join(' ')}"/>`;

export const circle = ([x, y]: Point, radius: number, kind: string): string =>
  `<circle${classOf(kind)} cx="${number(x)}" cy="${number(y)}" r="${radius}"/>`;

export const rectangle = ([x, y]: Point, width: number, height: number, kind: string): string =>
  `<rect${classOf(kind)} x="${number(x)}" y="${number(y)}" width="${width}" height="${height}" rx="8"/>`;

export const bar = ([x, y]: Point, width: number, height: number, kind: string): string =>
  `<rect${classOf(kind)} x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"/>`;

const classOf = (kind: string): string => (kind === '' ? '' : ` class="${kind}"`);
const number = (value: number): string => String(Math.round(value * 10) / 10);
const escaped = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
