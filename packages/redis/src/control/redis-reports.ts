/// <reference path="../lua.d.ts" />

import { SpillwayError } from '@spillway/core';
import { checkOptions, type NamesOf } from '@spillway/core/adapter';
import type { LimiterReport, ReportSink } from '@spillway/core/who';
import { Transport } from '../calls/transport.js';
import { type AnyRedisClient, asRedisClient } from '../clients/as-redis-client.js';
import { prefixFrom } from '../codec/keys.js';
import { scriptOf } from '../codec/script.js';
import reading from '../lua/report-read.lua';
import writing from '../lua/report-write.lua';
import { decodeReport, encodeReport } from './report-codec.js';
import { newProcessId, TaggedScripts } from './tagged-scripts.js';

/** Options of {@link redisReports}. */
export interface RedisReportsOptions {
  /** The store's `prefix`. Default `'spw:'`. */
  readonly prefix?: string | undefined;
}

const NAMES: NamesOf<RedisReportsOptions> = { prefix: 1 };

/** The reports that one process has published. */
export interface ProcessReport {
  readonly process: string;
  /** How long ago the process last published, in milliseconds. A running process publishes at least every 10 s. */
  readonly ageMs: number;
  readonly limiters: readonly LimiterReport[];
}

/** The result of {@link redisReports}. */
export interface RedisReports extends ReportSink {
  /**
   * The reports of all processes, at most 1,000, the latest first. A process that has ended stays in the list for 15
   * minutes. After one minute, its lists for the last minute are empty. Rejects with `SPW_STORE_UNAVAILABLE`,
   * `SPW_STORE_TIMEOUT` or `SPW_STORE_ERROR`.
   *
   * @param limiter reads only the reports about this limiter
   */
  read(limiter?: string): Promise<readonly ProcessReport[]>;
}

const REPORT_TTL_MS = 900_000;
const MINUTE_MS = 60_000;

/** The most processes that are listed. If processes keep restarting, a new one replaces the oldest that has ended. */
const MAX_PROCESSES = 1_000;

/** How many reports one call reads. This bounds how long the call keeps Redis busy. */
const READ_AT_ONCE = 10;

/**
 * Publishes the rejected callers to Redis, where `spillway who` and `spillway top` read them. Each process makes at
 * most one call a second, except at shutdown.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 * import { topCallers } from '@spillway/core/who';
 * import { redisReports, redisStore } from '@spillway/redis';
 *
 * const callers = topCallers({ publishTo: redisReports(redis) });
 * const limiter = rateLimit({ name: 'api', limit: 100, window: '1m' });
 * createGuard(limiter, { store: redisStore(redis), observers: [callers] });
 * ```
 */
export function redisReports(
  client: AnyRedisClient,
  options: RedisReportsOptions = {},
): RedisReports {
  checkOptions(options, 'redisReports()', NAMES);
  const transport = new Transport(asRedisClient(client));
  return new InRedis(transport, prefixFrom(options.prefix));
}

class InRedis extends TaggedScripts implements RedisReports {
  private readonly writing = scriptOf(writing);
  private readonly reading = scriptOf(reading);
  private readonly id = newProcessId();

  async publish(limiters: readonly LimiterReport[]): Promise<void> {
    const texts = limiters.flatMap((report) => [report.limiter, encodeReport(report)]);
    const args = [this.id, `${REPORT_TTL_MS}`, `${MAX_PROCESSES}`, ...texts];
    const keys = [this.reportOf(this.id), this.keyOf('reports')];
    const kept = await this.runScript(this.writing, keys, args);
    if (Number(kept) !== 1) {
      throw new SpillwayError(
        'SPW_STORE_ERROR',
        `${MAX_PROCESSES} other processes publish already`,
      );
    }
  }

  async read(limiter?: string): Promise<readonly ProcessReport[]> {
    const [now, listed = []] = await this.readHashes([this.keyOf('reports')], []);
    const processes = pairsOf(listed).flatMap(([process, text]) => {
      // The difference is negative if the clock of Redis was set back.
      const ageMs = Math.abs(Number(now) - Number(/^1 (\d{1,16})/.exec(text)?.[1]));
      return ageMs < REPORT_TTL_MS ? [{ process, ageMs }] : [];
    });
    processes.sort((a, b) => a.ageMs - b.ageMs);
    const fields = limiter === undefined ? [] : [limiter];
    const reports: ProcessReport[] = [];
    for (let at = 0; at < processes.length; at += READ_AT_ONCE) {
      const some = processes.slice(at, at + READ_AT_ONCE);
      const keys = some.map(({ process }) => this.reportOf(process));
      const [, ...hashes] = await this.readHashes(keys, fields);
      for (const [i, { process, ageMs }] of some.entries()) {
        const limiters = pairsOf(hashes[i] ?? []).flatMap(
          ([name, text]) => decodeReport(name, text, ageMs < MINUTE_MS) ?? [],
        );
        reports.push({ process, ageMs, limiters });
      }
    }
    return reports;
  }

  private async readHashes(
    keys: string[],
    fields: string[],
  ): Promise<[now: unknown, ...hashes: (readonly unknown[])[]]> {
    const reply = await this.runScript(this.reading, keys, fields);
    return reply as [unknown, ...(readonly unknown[])[]];
  }

  private reportOf(process: string): string {
    return this.keyOf(`report:${process}`);
  }
}

function pairsOf(list: readonly unknown[]): (readonly [string, string])[] {
  const texts = list.map(String);
  return texts.flatMap((field, at) =>
    at % 2 === 0 ? [[field, texts[at + 1] ?? ''] as const] : [],
  );
}
