/** Stores values, such as responses, in a database: each as a text that starts with its expiry. */

import { bytesOfText, textOfBytes } from '../base/bytes-text.js';
import { type EncodeNameOptions, encodeName } from '../base/encode-name.js';
import { checkValue, type ValueName, type Values, valueCode } from '../contract/store.js';
import type { StateBackend } from './state-backend.js';
import { transact } from './transaction.js';

/** The expiry in microseconds since the epoch; the result of `textOfBytes` follows. */
const END = /^(\d{1,16}):/;

export function stateValues(backend: StateBackend, naming: EncodeNameOptions): Values {
  const textNameOf = ({ limiter, key, id }: ValueName): string =>
    encodeName(limiter, key, valueCode(id), naming);
  return {
    async set(name, bytes, ttlUs, options = {}) {
      checkValue(bytes, ttlUs);
      const stored = textNameOf(name);
      const text = textOfBytes(bytes);
      await transact(backend, [stored], options, (_, nowUs) => {
        const expiresUs = nowUs + ttlUs;
        const changes = new Map([[stored, { text: `${expiresUs}:${text}`, expiresUs }]]);
        return { result: undefined, changes };
      });
    },
    async get(name, options = {}) {
      return transact(backend, [textNameOf(name)], options, ([text = ''], nowUs) => {
        const [mark = '', end = 0] = END.exec(text) ?? [];
        // Decoded inside the transaction, so a text in another format fails the call like any error of the store.
        const result = Number(end) > nowUs ? bytesOfText(text.slice(mark.length)) : undefined;
        return { result, changes: new Map() };
      });
    },
  };
}
