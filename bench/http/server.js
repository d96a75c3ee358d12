/** An Express 5 server behind one limiter; tells how much processor time it has used. */

import { once } from 'node:events';
import express from 'express';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { cpuUs } from '../harness/cpu.js';
import { contenders } from './contenders.js';

const [name, limit, redisPort, db] = process.argv
  .slice(2)
  .map((arg, i) => (i === 0 ? arg : Number(arg)));
const { make, redis } = contenders[name];
const client = redis ? new Redis({ host: '127.0.0.1', port: redisPort, db }) : undefined;
const app = express();
if (name !== 'bare') app.use(make(limit, client));
app.get('/', (_req, res) => res.json({ hello: 'world' }));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

answerCalls({ port: () => server.address().port, cpu: cpuUs });
