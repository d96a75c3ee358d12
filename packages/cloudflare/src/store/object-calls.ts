import { failedCall, isRetryable, noReply } from '../failures.js';
import type { ObjectNamespace } from '../platform.js';
import { type Call, type Reply, readReply, writeCall } from '../wire/calls.js';

/** `fetch` requires a URL, which the object ignores. */
const URL = 'https://rate-limit-object/';

export class ObjectCalls {
  private readonly namespace: ObjectNamespace;
  private readonly place: { readonly locationHint?: string };
  private readonly fields: (() => Record<string, string>) | undefined;

  constructor(
    namespace: ObjectNamespace,
    locationHint: string | undefined,
    fields?: () => Record<string, string>,
  ) {
    this.namespace = namespace;
    this.place = locationHint === undefined ? {} : { locationHint };
    this.fields = fields;
  }

  /**
   * @param isRepeatable whether the call is idempotent. If so, it is retried once if the platform fails
   * @throws SpillwayError
   */
  async sendCall(name: string, call: Call, isRepeatable: boolean): Promise<Reply> {
    const body = writeCall(call);
    try {
      return await this.fetchReply(name, body);
    } catch (cause) {
      if (!isRepeatable || !isRetryable(cause)) throw failedCall(cause);
    }
    return this.fetchReply(name, body).catch((cause) => {
      throw failedCall(cause);
    });
  }

  /** Each call gets a new stub, because a stub stops working once its object has failed. */
  private async fetchReply(name: string, body: string): Promise<Reply> {
    const { namespace, fields } = this;
    const stub = namespace.get(namespace.idFromName(name), this.place);
    const headers = fields && { headers: fields() };
    const reply = await stub.fetch(URL, { method: 'POST', body, ...headers });
    const text = await reply.text();
    if (reply.status !== 200) throw noReply();
    return readReply(text);
  }
}
