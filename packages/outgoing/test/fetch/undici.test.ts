/** The interceptor for undici, over real HTTP: calls wait for slots, and a server's answers are obeyed. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createShaper, hostAndCredential, type Shaper } from '@spillway/outgoing';
import { type PacedDispatchOptions, pacedDispatch } from '@spillway/outgoing/undici';
import {
  Agent,
  Client,
  type Dispatcher,
  interceptors,
  Pool,
  request,
  fetch as undiciFetch,
} from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeShaper } from './fake-shaper.js';
import { VirtualTime } from './virtual-time.js';

async function serve(answer: (response: ServerResponse, url: string) => void) {
  const server = createServer((asked, response) => answer(response, asked.url ?? ''));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}/`, host };
}

function agentFor(shaper: Shaper | FakeShaper, options: PacedDispatchOptions = {}) {
  const paced = pacedDispatch(shaper as Shaper, { random: () => 0, ...options });
  const agent = new Agent();
  onTestFinished(() => agent.close());
  return { agent, dispatcher: agent.compose(paced), paced };
}

const fake = () => new FakeShaper(new VirtualTime(), 0);

it('calls start at the pace, and get their responses', async () => {
  const { url } = await serve((response, path) => response.end(`to ${path}`));
  const shaper = createShaper({ limit: 20, window: '1s' });
  const { dispatcher } = agentFor(shaper);
  const fromMs = performance.now();
  const texts = await Promise.all(
    ['a', 'b', 'c'].map(async (path) => (await request(url + path, { dispatcher })).body.text()),
  );
  expect(texts).toEqual(['to /a', 'to /b', 'to /c']);
  expect(performance.now() - fromMs).toBeGreaterThan(95);
});

it("works with undici's fetch", async () => {
  const { url } = await serve((response) => response.end('sent'));
  const { dispatcher } = agentFor(fake());
  expect(await (await undiciFetch(url, { dispatcher })).text()).toBe('sent');
});

it.each(['example.com:443', '10.0.0.1:443', '[::1]:443'])(
  'a CONNECT to %s waits for the proxy',
  async (path) => {
    const server = createServer();
    server.on('connect', (_request, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const shaper = fake();
    const { dispatcher } = agentFor(shaper, { key: () => 'other' });
    const { statusCode, socket } = await dispatcher.connect({ origin, path });
    socket.destroy();
    expect(statusCode).toBe(200);
    expect(shaper.starts).toMatchObject([{ key: new URL(origin).host }]);
  },
);

it('waits for the host that is called, although the path begins with two slashes', async () => {
  const { url, host } = await serve((response, path) =>
    response.writeHead(429, { 'retry-after': '3' }).end(path),
  );
  const shaper = fake();
  const keys: string[] = [];
  const key = (asked: Request) => {
    keys.push(asked.url);
    return undefined;
  };
  const { dispatcher } = agentFor(shaper, { key });
  const response = await request(`${url}/other.example/a`, { dispatcher });
  expect(await response.body.text()).toBe('//other.example/a');
  expect(keys).toEqual([`${url}/other.example/a`]);
  await expect.poll(() => shaper.pauses).toEqual([{ key: host, ms: 3_000 }]);
});

it.each([
  [429, { 'retry-after': '3' }, 3_000],
  [403, { 'retry-after': '2' }, 2_000],
  [503, { 'retry-after-ms': '1500' }, 1_500],
  [200, { ratelimit: '"burst";r=0;t=4' }, 4_000],
])('a %i pauses the host', async (status, headers, ms) => {
  const { url, host } = await serve((response) => response.writeHead(status, headers).end());
  const shaper = fake();
  const response = await request(url, { dispatcher: agentFor(shaper).dispatcher });
  await response.body.dump();
  expect(response.statusCode).toBe(status);
  await expect.poll(() => shaper.pauses).toEqual([{ key: host, ms }]);
});

it('each try of a retry, and each hop of a redirect, waits for a slot', async () => {
  const asked: string[] = [];
  const { url } = await serve((response, path) => {
    asked.push(path);
    if (asked.length === 1) response.writeHead(302, { location: '/next' }).end();
    else if (asked.length === 2) response.writeHead(503, { 'retry-after-ms': '1' }).end();
    else response.end('at last');
  });
  let jobs = 0;
  const onDecision = () => {
    jobs += 1;
  };
  const shaper = createShaper({ limit: 1_000, window: '1s' }, { onDecision });
  const { agent, paced } = agentFor(shaper);
  const retry = interceptors.retry({ minTimeout: 1, maxTimeout: 1 });
  const dispatcher = agent.compose(paced, retry, interceptors.redirect({ maxRedirections: 2 }));
  const response = await request(url, { dispatcher });
  expect(await response.body.text()).toBe('at last');
  expect(asked).toEqual(['/', '/next', '/next']);
  expect(jobs).toBe(3);
});

it('an abort ends the wait, and nothing is sent', async () => {
  const asked: string[] = [];
  const { url, host } = await serve((response, path) => {
    asked.push(path);
    response.end();
  });
  const shaper = createShaper({ limit: 1, window: '1m', maxWait: '5m' });
  const { dispatcher } = agentFor(shaper);
  await (await request(url, { dispatcher })).body.dump();
  const abort = new AbortController();
  const ends = [request(url, { dispatcher, signal: abort.signal })];
  ends.push(undiciFetch(url, { dispatcher, signal: abort.signal }) as never);
  await expect.poll(() => shaper.queueLength(host)).toBe(2);
  abort.abort(new Error('no longer'));
  for (const end of ends) await expect(end).rejects.toThrow('no longer');
  expect(shaper.queueLength(host)).toBe(0);
  expect(asked).toHaveLength(1);
  const aborted = { dispatcher, signal: AbortSignal.abort(new Error('before')) };
  await expect(request(url, aborted)).rejects.toThrow('before');
});

it('a call without a slot fails as schedule does, and others with their own error', async () => {
  const shaper = createShaper({ limit: 1, window: '1m', maxWait: '1s' });
  const { dispatcher } = agentFor(shaper);
  const nowhere = 'http://127.0.0.1:1/';
  await expect(request(nowhere, { dispatcher })).rejects.toThrow(/ECONNREFUSED/);
  await expect(request(nowhere, { dispatcher })).rejects.toThrow(/SPW_SHAPER_WAIT/);
  await expect(shaper.onIdle()).resolves.toBeUndefined();
});

it('a call counts for maxConcurrent until its headers have arrived', async () => {
  const { url, host } = await serve((response) => void response.write('headers and more'));
  const shaper = createShaper({ maxConcurrent: 1 });
  const { dispatcher } = agentFor(shaper);
  const first = await request(url, { dispatcher });
  const second = await request(url, { dispatcher });
  expect(shaper.queueLength(host)).toBe(0);
  first.body.destroy();
  second.body.destroy();
});

it.each([[{ authorization: 'a' }], [['authorization', 'a']], [new Map([['authorization', 'a']])]])(
  'keys read the headers, in whatever form: %j',
  async (headers) => {
    const { url, host } = await serve((response) => {
      response.writeHead(429, { 'retry-after': '3' }).end();
    });
    const shaper = fake();
    const { dispatcher } = agentFor(shaper, { key: hostAndCredential });
    await (await request(url, { dispatcher, headers: headers as never })).body.dump();
    await expect.poll(() => shaper.pauses.length).toBe(1);
    expect(shaper.pauses[0]?.key).toMatch(new RegExp(`^${host}#[0-9a-f]{16}$`));
  },
);

/** Answers each call with a 429 whose headers an old version of undici has decoded as UTF-8. */
function dispatchTo(shaper: FakeShaper, options: PacedDispatchOptions, call: object) {
  const { paced } = agentFor(shaper, options);
  return new Promise<number>((resolve, reject) => {
    const dispatch = paced((_, handler) => {
      handler.onResponseStart?.({} as never, 429, { 'retry-after': '3', 'x-city': 'Łódź' }, '');
      return true;
    });
    dispatch({ origin: 'https://a.example', path: '/', method: 'GET', ...call } as never, {
      onResponseStart: (_, status) => resolve(status),
      onResponseError: (_, error) => reject(error),
    });
  });
}

it('headers that are not Latin are ignored, and the others count', async () => {
  const shaper = fake();
  const headers = { authorization: 'a', 'x-city': 'Łódź' };
  expect(await dispatchTo(shaper, { key: hostAndCredential }, { headers })).toBe(429);
  const key = expect.stringMatching(/^a\.example#[0-9a-f]{16}$/);
  await expect.poll(() => shaper.pauses).toEqual([{ key, ms: 3_000 }]);
});

it.each(['TRACE', 'TRACK', 'CONNECT'])(
  'a %s, which no Request has, waits for its host',
  async (method) => {
    const shaper = fake();
    expect(await dispatchTo(shaper, { key: () => 'other' }, { method })).toBe(429);
    expect(shaper.starts).toMatchObject([{ key: 'a.example' }]);
  },
);

it('a key that throws fails its call alone', async () => {
  const { url } = await serve((response) => response.end());
  const key = () => {
    throw new Error('of the key');
  };
  const { dispatcher } = agentFor(fake(), { key });
  await expect(request(url, { dispatcher })).rejects.toThrow('of the key');
});

describe('a Pool or a Client, whose calls name no origin', () => {
  it.each([
    ['Pool', Pool],
    ['Client', Client],
  ])('%s: its calls wait for the host of the option origin', async (_, Kind) => {
    const { url, host } = await serve((response, path) => response.end(`to ${path}`));
    const shaper = fake();
    const one = new Kind(new URL(url).origin);
    onTestFinished(() => one.close());
    const dispatcher = one.compose(pacedDispatch(shaper as Shaper, { origin: url }));
    const response = await dispatcher.request({ path: '/a', method: 'GET' });
    expect(await response.body.text()).toBe('to /a');
    // `request` and `fetch` of undici name the origin of their address.
    expect(await (await request(`${url}b`, { dispatcher })).body.text()).toBe('to /b');
    expect(shaper.starts).toMatchObject([{ key: host }, { key: host }]);
  });

  it('fail without the option, and the error names it', async () => {
    const pool = new Pool('http://127.0.0.1:1');
    onTestFinished(() => pool.close());
    const dispatcher = pool.compose(pacedDispatch(fake() as Shaper));
    const asked = dispatcher.request({ path: '/', method: 'GET' });
    await expect(asked).rejects.toThrow(/origin must be .* got undefined/);
  });

  it.each(['a.example', 'mailto:me', 'foo://a.example', '', 5, null])(
    '%s is no origin',
    (origin) => {
      expect(() => pacedDispatch(fake() as Shaper, { origin } as never)).toThrow(/origin must be/);
    },
  );
});

it.each([null, 7, 'x', () => 'key'])('options that are %s are rejected', (options) => {
  const making = () => pacedDispatch(fake() as Shaper, options as never);
  expect(making).toThrow(expect.objectContaining({ code: 'SPW_OPTION_INVALID' }));
});

it('an option with a typo is rejected by a name that exists', () => {
  const making = () => pacedDispatch(fake() as Shaper, { orgin: 'https://a.example' } as never);
  expect(making).toThrow(/pacedDispatch\(\) has no option "orgin".*origin/);
});

it.each([
  ['before', ['too late']],
  ['after', ['other side closed']],
] as const)(
  'of an abort of the wait %s the headers and an error, one reaches the handler',
  async (when, told) => {
    const errors: string[] = [];
    let ended = false;
    let abort: ((reason: Error) => void) | undefined;
    const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
    const paced = pacedDispatch(createShaper({ limit: 1_000, window: '1s' }))((_, handler) => {
      handler.onRequestStart?.(controller, {});
      if (when === 'before') abort?.(new Error('too late'));
      else handler.onResponseStart?.(controller, 200, {}, 'OK');
      setImmediate(() => {
        if (when === 'after') abort?.(new Error('too late'));
        handler.onResponseError?.(controller, new Error('other side closed'));
        ended = true;
      });
      return true;
    });
    paced(
      { origin: 'https://a.example', path: '/', method: 'GET' },
      {
        onRequestStart: (own) => {
          abort ??= (reason) => own.abort(reason);
        },
        onResponseError: (_, { message }) => errors.push(message),
      },
    );
    await expect.poll(() => ended).toBe(true);
    await new Promise(setImmediate);
    expect(errors).toEqual(told);
  },
);

it('a call that is aborted between its slot and its connection is not sent', async () => {
  const asked: string[] = [];
  const { url } = await serve((response, path) => {
    asked.push(path);
    if (path !== '/first') response.end();
  });
  const shaper = createShaper({ limit: 1_000, window: '1s' });
  const agent = new Agent({ connections: 1 });
  onTestFinished(() => agent.close());
  const dispatcher = agent.compose(pacedDispatch(shaper));
  const first = new AbortController();
  const hanging = request(`${url}first`, { dispatcher, signal: first.signal });
  hanging.catch(() => undefined);
  await expect.poll(() => asked).toEqual(['/first']);
  const errors: string[] = [];
  let abort = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    dispatcher.dispatch(
      { origin: new URL(url).origin, path: '/second', method: 'GET' },
      {
        onRequestStart: (controller) => {
          abort = () => controller.abort(new Error('no longer'));
        },
        onResponseError: (_, error) => {
          errors.push(error.message);
          resolve();
        },
        onResponseEnd: () => resolve(),
      },
    );
  });
  await expect.poll(() => shaper.running).toBe(2);
  abort();
  await ended;
  first.abort();
  await (await request(`${url}third`, { dispatcher })).body.dump();
  expect(asked).toEqual(['/first', '/third']);
  expect(errors).toEqual(['no longer']);
});
