import { type Answer, type Clock, isSpillwayError, type Step, type Store } from '@spillway/core';
import { hexOf, sha256, utf8Bytes } from '@spillway/core/direct';
import {
  bytesOfText,
  encodeName,
  type StateBackend,
  stateStore,
  textOfBytes,
} from '@spillway/core/store';
import { unknownCall } from '../failures.js';
import {
  type Call,
  FORMS,
  type GroupCall,
  type Reply,
  readCall,
  writeFailure,
  writeReply,
} from '../wire/calls.js';
import { ruleOf } from '../wire/rules.js';
import type { Rows } from './rows.js';
import type { Sweep } from './sweep.js';

export class Service {
  private readonly rows: Rows;
  private readonly backend: StateBackend;
  private readonly store: Store;

  constructor(rows: Rows, clock: Clock, sweep?: Sweep) {
    this.rows = rows;
    this.backend = {
      hash,
      // Atomic, because there is no await between reading and writing. The platform holds replies back until earlier
      // writes are durable.
      async transact(names, decide) {
        const nowUs = clock.nowUs();
        const texts = names.map((name) => rows.readText(name));
        const changes = decide(texts, nowUs);
        if (changes.size === 0) return;
        rows.writeChanges(changes);
        const ends = [...changes.values()].map((state) => state?.expiresUs ?? Infinity);
        await sweep?.setAlarm(Math.min(...ends), nowUs);
      },
    };
    this.store = stateStore(this.backend);
  }

  /**
   * Answers a JSON text with a JSON text. A call that fails with a `SpillwayError` gets it as its reply. Rejects with
   * any other error.
   */
  async handleCall(text: string): Promise<string> {
    try {
      const call = readCall(text);
      if (!FORMS.includes(call.form)) throw unknownCall('the form of the call');
      return writeReply(await this.perform(call));
    } catch (error) {
      if (isSpillwayError(error)) return writeFailure(error);
      throw error;
    }
  }

  private async perform(call: Call): Promise<Reply> {
    const { values } = this.store;
    if ('steps' in call) {
      return { answers: await this.decideGroup(call) };
    }
    if ('set' in call) {
      await values?.set(call.set, bytesOfText(call.text), call.ttlUs);
      return {};
    }
    const bytes = await values?.get(call.get);
    return { value: bytes && textOfBytes(bytes) };
  }

  private decideGroup(call: GroupCall): Promise<readonly Answer[]> | readonly Answer[] {
    const steps = call.steps.map((step) => ({ ...step, rule: ruleOf(step.rule) }) as Step);
    const resets = steps.filter(
      ({ op, claim, limiter }) => op === 'reset' && !claim && call.known?.includes(limiter),
    );
    const store = resets.length > 0 ? this.storeFor(resets) : this.store;
    return store.apply(steps, { deadlineUs: call.latestUs });
  }

  /**
   * Returns a store in which each of `resets` deletes all counts of its limiter, also those that other isolates
   * created. The names of the object's rows say which counts exist.
   */
  private storeFor(resets: readonly Step[]): Store {
    const store = stateStore(this.backend);
    for (const { limiter, key, rule } of resets) {
      for (const code of this.rows.suffixes(encodeName(limiter, key, '', { hash }))) {
        // A colon or # precedes the id of a claim or a value, which are not counts.
        if (!/[:#]/.test(code)) store.register?.(limiter, { ...rule, code });
      }
    }
    return store;
  }
}

function hash(text: string): string {
  return hexOf(sha256(utf8Bytes(text)));
}
