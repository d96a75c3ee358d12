/** The fields of an answer: what cannot be read counts as not there. */

/** What is needed of the fields of an answer. */
export interface Fields {
  get(name: string): string | null;
}

/**
 * Fields without the white space around them, which is no part of a value (RFC 9110, 5.5), and which Node keeps at the
 * end. `headers` are what a `fetch` of the user answers: perhaps nothing that has fields.
 */
export function fieldsOf(headers: unknown): Fields {
  return {
    get(name) {
      try {
        const value: unknown = (headers as Fields).get(name);
        return typeof value === 'string' ? value.trim() : null;
      } catch {
        return null;
      }
    },
  };
}
