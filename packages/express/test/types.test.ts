/** What TypeScript infers for a route behind the middleware. Half of the test is that this file compiles. */

import { rateLimit, spillway } from '@spillway/express';
import { expect, it } from 'vitest';
import { EXPRESS, serve } from './service.js';

it.each(EXPRESS)(
  'leaves the params of a route their types, on Express $major',
  async ({ express }) => {
    const app = express();
    const guard = spillway(rateLimit({ limit: 9, window: '1h' }), { logger: false });
    app.use(guard);
    app.use('/below', guard, guard);
    app.get('/things/:id', guard, (req, res) => {
      const id: string = req.params.id;
      // @ts-expect-error there is no such param
      res.json({ id, other: req.params.other });
    });
    app.get(
      '/lists/:list',
      [guard],
      (req: { params: { list: string } }, res: { json(it: object): void }) => {
        res.json({ list: req.params.list });
      },
    );
    const { get } = await serve(app);
    expect(JSON.parse((await get('/things/7')).body)).toEqual({ id: '7' });
    expect(JSON.parse((await get('/lists/8')).body)).toEqual({ list: '8' });
  },
);
