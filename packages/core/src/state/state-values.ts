/** Stores values, such as responses, in a database: each as a text that starts with its expiry. */

import { bytesOfText, textOfBytes } from '../base/bytes-text.js';
import { type EncodeNameOptions, encodeName } from '../base/encode-name.js';
import {
  type ApplyOptions,
  checkValue,
  type ValueName,
  type Values,
  valueCode,
} from '../contract/store.js';
import type { StateBackend } from './state-backend.js';
import { transact } from './transaction.js';

/** The expiry in microseconds since the epoch; the result of `textOfBytes` follows. */
const END = /^(\d{1,16}):/;

export class StateValues implements Values {
  private readonly backend: StateBackend;
  private readonly naming: EncodeNameOptions;

  constructor(backend: StateBackend, naming: EncodeNameOptions) {
    this.backend = backend;
    this.naming = naming;
  }

  async set(
    name: ValueName,
    bytes: Uint8Array,
    ttlUs: number,
    options: ApplyOptions = {},
  ): Promise<void> {
    checkValue(bytes, ttlUs);
    const stored = this.textNameOf(name);
    const text = textOfBytes(bytes);
    await transact(this.backend, [stored], options, (_, nowUs) => {
      const expiresUs = nowUs + ttlUs;
      const changes = new Map([[stored, { text: `${expiresUs}:${text}`, expiresUs }]]);
      return { result: undefined, changes };
    });
  }

  async get(name: ValueName, options: ApplyOptions = {}): Promise<Uint8Array | undefined> {
    return transact(this.backend, [this.textNameOf(name)], options, ([text = ''], nowUs) => {
      const [mark = '', end = 0] = END.exec(text) ?? [];
      // Decoded inside the transaction, so a text in another format fails the call like any error of the store.
      const result = Number(end) > nowUs ? bytesOfText(text.slice(mark.length)) : undefined;
      return { result, changes: new Map() };
    });
  }

  private textNameOf({ limiter, key, id }: ValueName): string {
    return encodeName(limiter, key, valueCode(id), this.naming);
  }
}
