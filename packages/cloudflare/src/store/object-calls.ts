import { failedCall, isRetryable, noReply } from '../failures.js';
import type { ObjectNamespace } from '../platform.js';
import { type Call, type Reply, readReply, writeCall } from '../wire/calls.js';

/** `fetch` requires a URL, which the object ignores. */
const URL = 'https://rate-limit-object/';

/**
 * @param isRepeatable whether the call is idempotent. If so, it is retried once if the platform fails
 * @throws SpillwayError
 */
export type SendCall = (name: string, call: Call, isRepeatable: boolean) => Promise<Reply>;

export function objectCalls(
  namespace: ObjectNamespace,
  locationHint: string | undefined,
  fields?: () => Record<string, string>,
): SendCall {
  const place = locationHint === undefined ? {} : { locationHint };
  // Each call gets a new stub, because a stub stops working once its object has failed.
  const fetchReply = async (name: string, body: string): Promise<Reply> => {
    const stub = namespace.get(namespace.idFromName(name), place);
    const headers = fields && { headers: fields() };
    const reply = await stub.fetch(URL, { method: 'POST', body, ...headers });
    const text = await reply.text();
    if (reply.status !== 200) throw noReply();
    return readReply(text);
  };
  return async (name, call, isRepeatable) => {
    const body = writeCall(call);
    const repeat = (cause: unknown): Promise<Reply> => {
      if (!isRepeatable || !isRetryable(cause)) throw cause;
      return fetchReply(name, body);
    };
    return fetchReply(name, body)
      .catch(repeat)
      .catch((cause) => {
        throw failedCall(cause);
      });
  };
}
