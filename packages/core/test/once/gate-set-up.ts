/** A gate with idempotency keys over a remote store, and exchanges whose handlers respond when the test says so. */

import {
  type Admission,
  claimOf,
  type Fault,
  type GuardOptions,
  type IdempotencyOptions,
  idempotency,
  memoryStore,
  type Step,
  type Store,
} from '@spillway/core';
import {
  type BodyWatcher,
  type Exchange,
  Gate,
  type OnClosed,
  type Recorder,
  type ResponseWatcher,
  type StoredResponse,
} from '@spillway/core/adapter';
import { remoteStore, systemClock } from '@spillway/core/store';
import { request } from 'spillway-testkit';

/** One request, its handler and its client. */
export class Call implements Exchange, Recorder {
  readonly query = '';
  host = 'shop.example';
  readonly fields = new Map<string, string>();
  refusal: Admission | undefined;
  answer: StoredResponse | undefined;
  private watcher: ResponseWatcher | undefined;
  private closed: OnClosed | undefined;
  hasLeft = false;

  isGone(): boolean {
    return this.hasLeft;
  }
  onClosed(closed: OnClosed): void {
    this.closed = closed;
  }
  getHeader(name: string): unknown {
    return this.fields.get(name);
  }
  setHeader(name: string, value: string): void {
    this.fields.set(name, value);
  }
  reject(admission: Admission): void {
    this.refusal = admission;
  }
  replay(answer: StoredResponse): void {
    this.answer = answer;
  }
  recorder(): Recorder {
    return this;
  }
  parsedBody(): unknown {
    return undefined;
  }
  watchBody(watcher: BodyWatcher): void {
    watcher.end();
  }
  async readBody(watcher: BodyWatcher): Promise<'whole'> {
    watcher.end();
    return 'whole';
  }
  watchResponse(watcher: ResponseWatcher): void {
    this.watcher = watcher;
  }

  /** The handler answers. */
  end(text: string, status = 200): void {
    this.begin(status);
    this.watcher?.chunk(new TextEncoder().encode(text));
    void this.watcher?.end();
  }
  /** The response could not be sent. */
  takeBack(): void {
    this.watcher?.unsent();
  }
  begin(status = 200): void {
    this.watcher?.head(status, () => undefined);
  }
  /** The response is over. */
  close(aborted = false): Promise<void> | undefined {
    this.hasLeft ||= aborted;
    return this.closed?.({ status: 200, aborted });
  }
  get claim() {
    return claimOf(this);
  }
  get text(): string {
    return this.answer ? new TextDecoder().decode(this.answer.body) : `${this.refusal?.status}`;
  }
}

/** A remote store. It may fail for some steps, and records what it does. */
export class OnceStore implements Store {
  readonly sync = false;
  readonly memory = memoryStore({ clock: systemClock });
  readonly values = this.memory.values;
  readonly calls: (readonly Step[])[] = [];
  /** Which steps fail before they are done, and which after. */
  fails: (op: Step['op']) => boolean = () => false;
  losesReply: (op: Step['op']) => boolean = () => false;

  async apply(steps: readonly Step[]) {
    this.calls.push(steps);
    if (steps.some(({ op }) => this.fails(op))) throw new Error('down');
    const answers = this.memory.apply(steps);
    if (steps.some(({ op }) => this.losesReply(op))) throw new Error('reply lost');
    return answers;
  }

  count(op: Step['op']): number {
    return this.calls.flat().filter((step) => step.op === op).length;
  }
}

export function setUp(
  options: Partial<IdempotencyOptions> = {},
  store = remoteStore(new OnceStore()),
  guardOptions: GuardOptions = {},
) {
  const faults: Fault[] = [];
  const limiter = idempotency({ scope: () => 'ada', ...options });
  const gate = new Gate(limiter, {
    store,
    logger: false,
    onFault: (fault) => faults.push(fault),
    ...guardOptions,
  });
  /** Sends the request; the passage is in `passage`. */
  const send = async (key = 'key-1') => {
    const call = new Call();
    const headers = { 'idempotency-key': key };
    const passage = await gate.enter(request({ method: 'POST', headers }), call, call);
    return Object.assign(call, { passage });
  };
  return { store, faults, gate, send };
}
