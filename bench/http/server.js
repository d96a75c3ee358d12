/** A server of one framework behind one limiter. It reports the CPU time that it has used. */

import { once } from 'node:events';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';

const [framework, name, ...numbers] = process.argv.slice(2);
const [limit, redisPort, db] = numbers.map(Number);
const { contenders, serve } = await import(`./frameworks/${framework}.js`);
const { make, redis } = contenders[name];
const client = redis ? new Redis({ host: '127.0.0.1', port: redisPort, db }) : undefined;
const server = await serve(make(limit, client));
server.listen(0, '127.0.0.1');
await once(server, 'listening');

answerCalls({ port: () => server.address().port, cpu: cpuUs });
