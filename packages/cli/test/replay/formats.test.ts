import zlib, { constants, gunzipSync, gzipSync } from 'node:zlib';
import { rateLimit } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { atFrameEnds } from '../../src/replay/zstd-frames.js';
import type { LogEntry } from '../../src/replay.js';
import { clfTime, combined, linesOf, only, replayed, START_MS, stream } from './logs.js';

const iso = (afterMs: number): string => new Date(START_MS + afterMs).toISOString();

/** What a policy's functions get for the only request of a log. */
async function seenIn(lines: readonly string[], options: object = {}) {
  const seen: LogEntry[] = [];
  const key = ({ raw }: { raw: LogEntry }) => {
    seen.push(raw);
    return undefined;
  };
  const report = await replayed(lines, {
    policy: rateLimit({ limit: 2, window: '1m', key: key as never }),
    ...options,
  });
  expect(report).toMatchObject({ requests: 1, unparsed: 0 });
  const { method, path, clientIp, status, timeUs } = seen[0] as LogEntry;
  return {
    format: report.logs[0]?.format,
    method,
    path,
    clientIp,
    status,
    ms: timeUs / 1000 - START_MS,
    entry: seen[0],
  };
}

describe('a log is read', () => {
  const request = {
    method: 'GET',
    path: '/things',
    clientIp: '203.0.113.7',
    status: 200,
    ms: 7_000,
  };
  const plain = '203.0.113.7 - ada [';

  it.each([
    ['combined', [combined(7_000)]],
    ['common', [`${plain}${clfTime(7_000)}] "GET /things HTTP/1.1" 200 5`]],
    ['combined-and-more', [`${combined(7_000)} 0.012 "-"`]],
    [
      'json',
      [
        JSON.stringify({
          time: iso(7_000),
          remote_addr: '203.0.113.7',
          method: 'GET',
          url: '/things?x',
          status: 200,
        }),
      ],
    ],
    [
      'json',
      [
        JSON.stringify({
          ts: (START_MS + 7_000) / 1000,
          request: { remote_ip: '203.0.113.7', method: 'GET', uri: '/things' },
          status: 200,
        }),
      ],
    ],
    [
      'cloudflare',
      [
        JSON.stringify({
          ClientIP: '203.0.113.7',
          EdgeStartTimestamp: (START_MS + 7_000) * 1e6,
          ClientRequestMethod: 'GET',
          ClientRequestURI: '/things?x=1',
          EdgeResponseStatus: 200,
        }),
      ],
    ],
  ])('as %s without being told', async (format, lines) => {
    expect(await seenIn(lines)).toMatchObject({ format, ...request });
  });

  it.each([
    [
      '$msec $remote_addr "$request_method $request_uri" $status',
      `${(START_MS + 7_250) / 1000} 203.0.113.7 "GET /things" 200`,
      7_250,
    ],
    [
      '[$time_iso8601] $' + '{remote_addr} $status $request',
      '[2026-11-26T12:00:07+02:00] 203.0.113.7 200 GET /things HTTP/1.1',
      7_000,
    ],
    [
      '$remote_addr "$http_x_api_key" [$time_local] $status "$request"',
      `203.0.113.7 "k\\"1" [${clfTime(7_000)}] 200 "GET /things HTTP/2.0"`,
      7_000,
    ],
  ])('by the log_format %s', async (format, line, ms) => {
    expect(await seenIn([line], { format })).toMatchObject({ ...request, ms });
  });

  it('with headers and variables by the names of nginx', async () => {
    const { entry } = await seenIn([`203.0.113.7 k1 - [${clfTime(0)}] 200`], {
      format: '$remote_addr $http_x_api_key $remote_user [$time_local] $status',
    });
    expect(entry?.header('X-Api-Key')).toBe('k1');
    expect(entry?.field('remote_user')).toBeUndefined();
  });

  it('by a map of fields', async () => {
    const fields = {
      remote_addr: 'client.ip',
      time: 'at',
      status: 'code',
      http_x_api_key: 'headers.key',
    };
    const line = {
      client: { ip: '2001:db8::1' },
      at: iso(1_500),
      code: '404',
      headers: { key: 'k1' },
    };
    const { entry, ...request } = await seenIn([JSON.stringify(line)], { format: 'json', fields });
    expect(request).toMatchObject({ clientIp: '2001:db8::/64', status: 404, ms: 1_500 });
    expect(entry?.header('x-api-key')).toBe('k1');
  });

  it('with the client that a trusted proxy names', async () => {
    const line = JSON.stringify({ time: iso(0), ip: '10.0.0.1', headers: { xff: '198.51.100.9' } });
    const options = { fields: { http_x_forwarded_for: 'headers.xff' }, trustProxy: 1 };
    expect(await seenIn([line], options)).toMatchObject({ clientIp: '198.51.100.9' });
  });

  it('if it is compressed, also of several parts, one of them cut', async () => {
    const part = gzipSync(linesOf(combined(0), combined(1_000)));
    expect(await replayed(Buffer.concat([part, part]))).toMatchObject({ requests: 4, notes: [] });
    const report = await replayed(Buffer.concat([part, part.subarray(0, -12)]));
    expect(report.requests).toBeGreaterThanOrEqual(2);
    expect(report.notes).toEqual(['stream ends early: unexpected end of file.']);
  });

  it('if it is compressed and damaged, up to 16 kB before the damage', async () => {
    const lines = Array.from({ length: 20_000 }, (_, at) =>
      combined(at * 10, `192.0.2.${at % 200}`),
    );
    const bytes = gzipSync(linesOf(...lines));
    const middle = Math.floor(bytes.length / 2);
    bytes.fill(0xff, middle, middle + 64);
    const intact = gunzipSync(bytes.subarray(0, middle), { finishFlush: constants.Z_SYNC_FLUSH });
    const report = await replayed(bytes);
    expect(report.notes[0]).toContain('ends early');
    const line = linesOf(lines[0] ?? '').length;
    expect(report.requests).toBeGreaterThan((intact.length - 16_384) / line - 10);
  });

  it('if it is of zstd, where Node can, and else says what to do', async () => {
    const zstd = Buffer.from('KLUv/SAAAQAA', 'base64'); // an empty frame
    const version = process.versions.node.split('.').map(Number) as [number, number];
    const can = version[0] > 22 || (version[0] === 22 && version[1] >= 15);
    const told = replayed(zstd).then(
      ({ requests }) => requests,
      (error: Error) => error.message,
    );
    expect(await told).toEqual(
      can ? 0 : expect.stringContaining('zstd -dc FILE | spillway replay -'),
    );
  });
});

describe('frames of zstd', () => {
  // With and without a checksum, with a repeated byte, with metadata, which are skipped, and with two blocks.
  const [checked, unchecked, zeros, empty] = [
    ...['KLUv/QRYIQAAb25lCt8WaAk=', 'KLUv/QBYIQAAdHdvCg==', 'KLUv/QRYIQAAAAAAALTe8lw='],
    'KLUv/SAAAQAA',
  ].map((text) => Buffer.from(text, 'base64')) as [Buffer, Buffer, Buffer, Buffer];
  const skipped = Buffer.from('502a4d18020000007a7a', 'hex');
  const blocks = Buffer.from('28b52ffd0058100000616223000061', 'hex');
  const frames = [checked, unchecked, skipped, blocks, zeros, empty, unchecked];

  it.each([1, 2, 7, 1_000])('end where a chunk ends, in chunks of %i bytes', async (size) => {
    const ends: number[] = [];
    let read = 0;
    const cut: string[] = [];
    for await (const part of atFrameEnds(stream(Buffer.concat(frames), size), (why) =>
      cut.push(why),
    )) {
      read += part.length;
      ends.push(read);
    }
    let end = 0;
    for (const frame of frames) {
      end += frame.length;
      expect(ends).toContain(end);
    }
    expect(read).toBe(end);
    expect(cut).toEqual([]);
  });

  it.each([...frames.entries()])('may be cut, which is told (frame %i)', async (_, frame) => {
    for (let length = 1; length < frame.length; length += 1) {
      const cut: string[] = [];
      const bytes = Buffer.concat([checked, frame.subarray(0, length)]);
      let read = 0;
      for await (const part of atFrameEnds(stream(bytes, 5), (why) => cut.push(why)))
        read += part.length;
      expect([read, cut]).toEqual([bytes.length, ['unexpected end of file']]);
    }
  });

  const { zstdCompressSync } = zlib as { readonly zstdCompressSync?: (text: string) => Buffer };
  it('are all read, where Node can, and a cut one is told', async () => {
    if (!zstdCompressSync) {
      await expect(replayed(Buffer.concat(frames))).rejects.toThrow('zstd -dc FILE');
      return;
    }
    const frame = zstdCompressSync(linesOf(combined(0), combined(1)));
    const whole = Buffer.concat([frame, skipped, frame, frame]);
    for (const log of [whole, whole.subarray(0, -3)]) {
      const report = await replayed(log);
      expect(report.requests).toBeGreaterThanOrEqual(4);
      expect(report.notes).toEqual(
        log === whole ? [] : ['stream ends early: unexpected end of file.'],
      );
    }
    expect((await replayed(whole)).requests).toBe(6);
  });
});

describe('what is no request', () => {
  it('is counted and shown', async () => {
    const junk = Buffer.from([0, 255, 10, 27, 91, 50, 74, 10, 123, 125, 10]);
    const bytes = Buffer.concat([Buffer.from(linesOf(combined(0), '{"time":1')), junk]);
    const report = await replayed(Buffer.concat([bytes, Buffer.from(combined(1_000))]));
    expect(report).toMatchObject({ requests: 2, unparsed: 4, outOfOrder: 0 });
    expect(report.logs[0]?.unparsedLines).toHaveLength(3);
    expect(report.logs[0]?.unparsedLines[0]).toBe('{"time":1');
  });

  it('may be a line of a megabyte, which is not kept', async () => {
    const long = combined(0).replace('curl', 'x'.repeat(1_000_000));
    const report = await replayed([combined(0), long, combined(1_000), long]);
    expect(report).toMatchObject({ requests: 2, unparsed: 2 });
    expect(report.logs[0]?.unparsedLines[0]).toHaveLength(120);
  });

  it.each([1_000, 70_000])(
    'is a line of more than 65,536 bytes, in chunks of %i',
    async (chunk) => {
      const head = `203.0.113.7 [${clfTime(0)}] `;
      const line = (bytes: number): string => head + 'x'.repeat(bytes - head.length);
      const log = linesOf(line(65_536), `${line(65_536)}\r`, line(65_537), `${line(65_537)}\r`);
      const format = '$remote_addr [$time_local] $more';
      const report = await replayed([], { logs: [stream(log, chunk)], format });
      expect(report).toMatchObject({ requests: 2, unparsed: 2 });
    },
  );

  it('may be all of a log', async () => {
    const report = await replayed(['hello', 'world']);
    expect(report).toMatchObject({ requests: 0, unparsed: 2, fromMs: null });
    expect(report.notes).toEqual([
      'No line of stream could be read. Name its format with --format (and the fields of JSON lines with --fields).',
    ]);
    expect(await replayed([''])).toMatchObject({ requests: 0, unparsed: 0, notes: [] });
  });

  it('may stand before the first request, longer than any sample', async () => {
    const fragments = Array.from({ length: 500 }, () => ' "curl/7.54.0"');
    const report = await replayed([...fragments, combined(0)]);
    expect(report).toMatchObject({ requests: 1, unparsed: 500 });
  });

  it.each([
    ['a day that is none', '[x6/Nov/2026:10:00:00 +0000]'],
    ['a month that is none', '[26/Nop/2026:10:00:00 +0000]'],
    ['a zone that is none', '[26/Nov/2026:10:00:00 +00x0]'],
  ])('has %s', async (_, stamp) => {
    const line = combined(0).replace(/\[.*\]/, stamp);
    expect(await replayed([combined(0), line])).toMatchObject({ requests: 1, unparsed: 1 });
  });
});

it.each([
  ['nginx, combined', { format: 'apache' }],
  ['$remote_addr', { format: '[$time_local] $status' }],
  ['$time_local', { format: '$remote_addr $status' }],
  ['$time_local$status', { format: '$remote_addr $time_local$status' }],
  ['maxRejected must be', { maxRejected: 2 }],
  ['maxCallers must be', { maxCallers: 0.5 }],
  ['logs must have', { logs: [] }],
  ['cannot read the log', { logs: ['/no/such/log'] }],
  ['is a directory', { logs: [import.meta.dirname] }],
])('a wrong option is refused with a sentence: %s', async (sentence, options) => {
  await expect(replayed([combined(0)], options)).rejects.toThrow(sentence);
});

it('an address that was replaced by a name tells callers apart', async () => {
  const report = await replayed([combined(0, 'host-a'), combined(0, 'host-b'), combined(0, '-')]);
  expect(only(report).callers).toBe(3);
  expect(
    only(await replayed([combined(0)], { logs: [stream(linesOf(combined(0)), 7)] })).callers,
  ).toBe(1);
});
