import { createReadStream, statSync } from 'node:fs';
import { Readable, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import { UsageError } from '../usage-error.js';
import { atFrameEnds } from './zstd-frames.js';

/** A path, `-` for standard input, or a stream of bytes. */
export type Log = string | AsyncIterable<Uint8Array>;

const CHUNK_BYTES = 262_144;
const GZIP = [0x1f, 0x8b] as const;
/**
 * The size of chunks decompressed from gzip. They are small, because an error in the compressed data can also lose the
 * chunk before it.
 */
const DECOMPRESSED_BYTES = 16_384;

/** Undefined before Node 22.15. */
const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: () => Transform };

export interface Bytes {
  readonly name: string;
  readonly size: number | undefined;
  /** Whether {@link read} can be called more than once. */
  readonly isFile: boolean;
  /**
   * @param onBytes called with the size of each chunk before decompression
   * @param onDamage called with the reason if the rest of a compressed log cannot be read; the log then ends there
   * @throws UsageError if the log cannot be read, or is compressed with zstd and Node does not have it
   */
  read(onBytes: (count: number) => void, onDamage: (why: string) => void): AsyncIterable<Buffer>;
}

export function bytesOf(log: Log): Bytes {
  if (typeof log !== 'string') return unnamed('stream', log);
  if (log === '-') return unnamed('standard input', process.stdin);
  const { size, isFile } = factsOf(log);
  return {
    name: log,
    size,
    isFile,
    read: (onBytes, onDamage) => decompressed(log, chunksOf(log), onBytes, onDamage),
  };
}

function unnamed(name: string, bytes: AsyncIterable<Uint8Array>): Bytes {
  const read: Bytes['read'] = (onBytes, onDamage) => decompressed(name, bytes, onBytes, onDamage);
  return { name, size: undefined, isFile: false, read };
}

/** The path may also be a pipe, as in `<(zcat access.log.1.gz)`. */
function factsOf(path: string): Pick<Bytes, 'size' | 'isFile'> {
  try {
    const stat = statSync(path);
    const isFile = stat.isFile();
    if (!stat.isDirectory()) return { isFile, size: isFile ? stat.size : undefined };
  } catch (error) {
    throw unreadable((error as Error).message);
  }
  throw unreadable(`${path} is a directory`);
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES });
  } catch (error) {
    throw unreadable((error as Error).message);
  }
}

function unreadable(why: string): UsageError {
  return new UsageError(`cannot read the log: ${why}`);
}

async function* decompressed(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
  onDamage: (why: string) => void,
): AsyncGenerator<Buffer> {
  const source = buffers(chunks, onBytes);
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 4) {
    const { value, done } = await source.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  const decoder = decoderFor(name, head);
  const whole = joined(head, source);
  if (!decoder) {
    yield* whole;
    return;
  }
  const isZstd = head[0] !== GZIP[0];
  // In object mode, chunks are not joined.
  const input = isZstd
    ? Readable.from(atFrameEnds(whole, onDamage), { objectMode: true, highWaterMark: 1 })
    : Readable.from(whole, { objectMode: false, highWaterMark: CHUNK_BYTES });
  input.on('error', (error) => decoder.destroy(error)).pipe(decoder);
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!isDamage(code)) throw error;
    onDamage(message);
  } finally {
    input.destroy();
  }
}

async function* buffers(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer, undefined> {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  return undefined;
}

async function* joined(
  head: Buffer,
  rest: AsyncGenerator<Buffer, undefined>,
): AsyncGenerator<Buffer> {
  try {
    yield head;
    yield* rest;
  } finally {
    // Closes the file even if the reader stops after the head.
    await rest.return(undefined);
  }
}

/** Decides by the first bytes, because the names of rotated logs are unreliable. */
function decoderFor(name: string, head: Buffer): Transform | undefined {
  if (head[0] === GZIP[0] && head[1] === GZIP[1]) {
    return zlib.createGunzip({ chunkSize: DECOMPRESSED_BYTES });
  }
  if (head.length < 4 || head.readUInt32LE(0) !== 0xfd2fb528) return undefined;
  if (createZstdDecompress) return createZstdDecompress();
  throw new UsageError(
    `${name} is compressed with zstd, which Node ${process.version} cannot read (22.15 can): ` +
      'zstd -dc FILE | spillway replay - --policy policy.js',
  );
}

function isDamage(code: string | undefined): boolean {
  return code !== undefined && /^(Z_|ZSTD_|ERR_.*ZSTD)/.test(code);
}
