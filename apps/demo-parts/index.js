/** The output of every demo: its port and limits, commands to try, and its warnings. */

const { LIMIT = '20', WINDOW = '1m', FOUR } = globalThis.process?.env ?? {};

/** The limits of every demo. Each has its name, what it counts for whom, and its mode. */
const LIMITS = [
  ['once', 'each POST with an Idempotency-Key runs once, for each x-api-key', 'enforce'],
  ...(FOUR === '1'
    ? [
        ['workers', 'sheds what the process is too busy for, charges never', 'enforce'],
        ['fleet', '20 requests at once in the whole fleet, 4 kept for charges', 'enforce'],
        ['in-flight', '5 requests at once, for each x-api-key', 'enforce'],
      ]
    : []),
  ['per-address', `60 in ${WINDOW}, for each address`, 'enforce'],
  ['trial', `1 in ${WINDOW}, for each address`, 'shadow'],
  ['per-key', `${LIMIT} in ${WINDOW}, for each x-api-key, of GET /things`, 'enforce'],
];

/** Prints where the demo listens, its limits, and what to try. The first line has the port: scripts read it. */
export function welcome(port, what, limits = LIMITS) {
  const at = `localhost:${port}`;
  const widths = limits[0].map((_, column) => Math.max(...limits.map((row) => row[column].length)));
  const lines = limits.map((row) => row.map((cell, i) => cell.padEnd(widths[i])).join('   '));
  const loop = `for i in $(seq ${Number(LIMIT) + 1}); do`;
  console.log(`Listening on port ${port}: ${what}

  ${lines.join('\n  ').replaceAll(/ +$/gm, '')}

Try in another terminal (the README of this demo has more):

  curl -si ${at}/ | grep -i '^HTTP\\|^RateLimit'          # what is left
  ${loop} curl -so /dev/null -w '%{http_code} ' -H 'x-api-key: ada' ${at}/things; done
  curl -si -H 'x-api-key: ada' ${at}/things               # rejected: when to come back
  for i in 1 2; do curl -s -X POST -H 'Idempotency-Key: order-7' ${at}/charges; echo; done   # one charge

Each rejection prints a line here, including would-be rejections of the trial, which clients do not notice:
`);
}

/** Handles the error of a server whose port is in use: prints what to do, and exits. Other errors are thrown. */
export function cannotListen(error) {
  if (!/^(EADDRINUSE|ERR_ADDRESS_IN_USE)$/.test(error?.code)) throw error;
  const { PORT = '3000' } = process.env;
  console.error(
    `Port ${PORT} is in use. Stop what listens there, or take another: PORT=${Number(PORT) + 1}`,
  );
  process.exit(1);
}

/** Prints to standard error, at most one line per second: an outage must not print a line for each request. */
export function complain(text) {
  if (Date.now() - lastMs < 1000) return;
  lastMs = Date.now();
  console.error(text);
}
let lastMs = 0;
