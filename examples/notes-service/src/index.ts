/** What the apps that show a migration have in common: a service with notes, and one account. */

export const NOTES: readonly string[] = ['a dam', 'a gate'];

/** What a client sends that knows the password. */
export const RIGHT = `Basic ${Buffer.from('ada:secret').toString('base64')}`;

/** Whether the credentials of `Authorization` are those of the account. */
export function isAda(authorization: string | undefined): boolean {
  return authorization === RIGHT;
}

/** What a rejected client reads, before the migration and after it. */
export const TOO_MANY = { error: 'too many requests' } as const;
