/** Tries every wrong call of the table in every framework, against the build; prints the results as JSON. */

import { rateLimit } from '@spillway/core';
import { LINES, THROWN } from './table.js';
import { serving, WORLDS } from './worlds.js';

const results = [];
for (const [name, world] of Object.entries(WORLDS)) {
  for (const row of THROWN) {
    if (row.except?.includes(name)) continue;
    const wanted = typeof row.says === 'function' ? row.says(name) : row.says;
    results.push({ world: name, title: row.title, ...told(await thrownBy(row, world), wanted) });
  }
  for (const row of LINES) {
    if (row.except?.includes(name)) continue;
    const { statuses, lines } = await linesOf(row, world);
    const wanted = row.says?.(world, name);
    const all = lines.map((line) => plain(line));
    const got = all.length === 1 ? all[0] : all.length === 0 ? undefined : all.join('\n');
    const status = row.status ?? 200;
    results.push({ world: name, title: row.title, status, statuses, ...told(got, wanted) });
  }
}
process.stdout.write(JSON.stringify(results), () => process.exit(0)); // some apps would keep it alive

async function thrownBy({ make }, world) {
  try {
    await make(world);
  } catch (error) {
    const { code, help, message } = error;
    // A message without a code and a page is not ours.
    const isOurs = typeof code === 'string' && help?.endsWith(`#${code.toLowerCase()}`);
    return isOurs ? message : `not ours: ${error}`;
  }
  return undefined;
}

/** The status of two requests to an app, and the lines that its logger got. */
async function linesOf(row, world) {
  const { limiter, options, headers, unix, mount = 'app', others } = row;
  const lines = [];
  const given = {
    logger: { warn: (line) => lines.push(line) },
    ...(typeof options === 'function' ? options() : options),
  };
  const make = () => rateLimit({ name: 'one', limit: 100, window: '1m', ...limiter?.(world) });
  const statuses = new Set();
  await serving(
    appOf(mount, world, make, given, others),
    async (get) => {
      for (let i = 0; i < 2; i += 1) statuses.add(await get(headers));
    },
    { unix },
  );
  return { statuses: [...statuses], lines };
}

function appOf(mount, world, make, options, others) {
  if (mount === 'inHandler') return world.inHandler(() => [make(), options]);
  const limiter = make();
  if (mount === 'both') return world.both([limiter, options], [limiter, options]);
  if (mount === 'trusting') return world.trusting(true, limiter, options);
  return world[mount](mount === 'app' ? [limiter, ...(others?.() ?? [])] : limiter, options);
}

/** A line without its beginning, and without the address of its page, which must be there if it has a code. */
function plain(line) {
  const [text, page] = line.replace(/^Spillway: /, '').split(/[. ]* See https:\S+#/);
  const [code] = /SPW_\w+/.exec(text) ?? [];
  if (code !== undefined && page !== code.toLowerCase()) return `no page: ${line}`;
  return text;
}

function told(got, wanted) {
  const fits = wanted instanceof RegExp ? wanted.test(got ?? '') : got === wanted;
  return { fits, got: got ?? 'nothing', wanted: String(wanted ?? 'nothing') };
}
