import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { workerShedder } from '@spillway/core';
import { eventLoopSignal, eventLoopWaitSignal, type TimedSignal } from '@spillway/core/node';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { loopTimes } from '../../src/node/host.js';
import { request } from './stubs.js';

afterEach(() => vi.restoreAllMocks());

/** Keeps the loop busy. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function nextReading(signal: TimedSignal): Promise<void> {
  return new Promise((resolve) => signal.watch(resolve));
}

describe('signals on a real event loop', () => {
  it('see a block of 700 ms: while it lasts, and after it', async () => {
    // As if this process had the whole processor, whatever else runs on this machine.
    const method = 'threadCpuUsage' in process ? 'threadCpuUsage' : 'cpuUsage';
    vi.spyOn(process, method as 'cpuUsage').mockImplementation(() => ({
      user: performance.now() * 1000,
      system: 0,
    }));
    const signal = eventLoopWaitSignal({ target: '20ms' });
    signal.read();
    await nextReading(signal);
    block(700);
    expect(signal.read()?.value).toBeGreaterThan(28);
    await nextReading(signal);
    // A late reading counts as much as the readings that it replaces.
    expect(signal.read()?.value).toBeGreaterThan(18);
    expect(signal.read()?.spanMs).toBeGreaterThan(690);
    signal.close();
  });

  it('count every wait where the host does not count utilization', async () => {
    vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue(undefined as never);
    const signal = eventLoopWaitSignal();
    signal.read();
    await nextReading(signal);
    block(60);
    expect(signal.read()?.value).toBeGreaterThan(1.5);
    signal.close();
  });

  it('know nothing of the time before their first reading', () => {
    const signal = eventLoopWaitSignal();
    block(300);
    const first = signal.read();
    expect(first?.value).toBeLessThan(1);
    expect(first?.spanMs).toBeLessThan(200);
    signal.close();
  });

  it('see a busy second in the reading that covers it, and not in the next', async () => {
    const signal = eventLoopSignal();
    expect(signal.read()).toBeUndefined();
    block(1200);
    await nextReading(signal);
    const busy = signal.read();
    expect(busy?.value).toBeGreaterThan(0.8);
    expect(busy?.spanMs).toBeGreaterThan(1190);
    await nextReading(signal);
    expect(signal.read()?.value).toBeLessThan(busy?.value ?? 0);
    signal.close();
  });

  it('count the connections that the process accepts, until they are closed', async () => {
    const server = createServer((_request, response) => response.end()).listen(0);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = async (): Promise<void> => {
      const socket = connect(port);
      socket.end('GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n').resume();
      await once(socket, 'close');
    };
    const signal = eventLoopWaitSignal();
    signal.read();
    const before = loopTimes()?.accepted ?? 0;
    await ask();
    await ask();
    expect(loopTimes()?.accepted).toBe(before + 2);
    signal.close();
    signal.close();
    await ask();
    expect(loopTimes()?.accepted).toBe(before + 2);
    server.close();
  });

  it('count each connection once, until the last of them is closed', () => {
    const channel = diagnostics.channel('net.server.socket');
    const signals = [eventLoopWaitSignal(), eventLoopWaitSignal()];
    for (const signal of signals) signal.read();
    const before = loopTimes()?.accepted ?? 0;
    const accepted = () => {
      channel.publish({});
      return (loopTimes()?.accepted ?? 0) - before;
    };
    expect(accepted()).toBe(1);
    signals[0]?.close();
    expect(accepted()).toBe(2);
    signals[1]?.close();
    expect(accepted()).toBe(2);
    expect(channel.hasSubscribers).toBe(false);
  });

  it('ask for the processor time of their own thread, where the host counts it', () => {
    vi.stubGlobal('process', {
      threadCpuUsage: () => ({ user: 2000, system: 1000 }),
      cpuUsage: () => ({ user: 9000, system: 9000 }),
    });
    const cpu = loopTimes()?.cpu;
    vi.unstubAllGlobals();
    expect(cpu).toBe(3);
  });

  it('are started by the first request, and do not keep the process alive', () => {
    const timers = vi.spyOn(globalThis, 'setInterval');
    const signal = eventLoopSignal();
    const shedder = workerShedder({ name: 'workers', signal });
    expect(timers).not.toHaveBeenCalled();
    for (let i = 0; i < 3; i++) expect(shedder.decide(request('GET')).allowed).toBe(true);
    expect(timers).toHaveBeenCalledTimes(2);
    for (const { value } of timers.mock.results) expect(value.hasRef()).toBe(false);
    signal.close();
  });

  it('have no data after close, and start nothing', () => {
    const signal = eventLoopSignal();
    signal.read();
    signal.wait.read();
    signal.close();
    const timers = vi.spyOn(globalThis, 'setInterval');
    expect([signal.read(), signal.wait.read()]).toEqual([undefined, undefined]);
    expect(timers).not.toHaveBeenCalled();
  });

  it('have no data where the host does not count utilization', async () => {
    vi.spyOn(performance, 'eventLoopUtilization').mockReturnValue(undefined as never);
    const signal = eventLoopSignal();
    signal.read();
    await nextReading(signal);
    expect(signal.read()).toBeUndefined();
    signal.close();
  });

  it.each(['0ms', 'soon', -1])('a target of %s is refused', (target) => {
    expect(() => eventLoopWaitSignal({ target: target as '1ms' })).toThrow(/SPW_OPTION_INVALID/);
  });
});
