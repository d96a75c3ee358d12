/** The common part of the migration examples: a service with notes, and one account. */

export const NOTES: readonly string[] = ['a dam', 'a gate'];

/** The `Authorization` header of a client that knows the password. */
export const RIGHT = `Basic ${Buffer.from('ada:secret').toString('base64')}`;

/** Whether the `Authorization` header has the credentials of the account. */
export function isAda(authorization: string | undefined): boolean {
  return authorization === RIGHT;
}

/** The response body for a rejected client, the same before and after the migration. */
export const TOO_MANY = { error: 'too many requests' } as const;
