/** Runs autocannon with the options given as JSON, each request from another address, and prints its result as JSON. */

import autocannon from 'autocannon';

const [, , text] = process.argv;
const { headers, ...options } = JSON.parse(text);
let sent = 0;

const result = await autocannon({
  ...options,
  requests: [
    {
      setupRequest(request) {
        sent += 1;
        const address = `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}`;
        return { ...request, headers: { ...headers, 'x-forwarded-for': address } };
      },
    },
  ],
});
process.stdout.write(JSON.stringify(result));
