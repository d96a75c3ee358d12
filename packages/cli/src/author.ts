import { userInfo } from 'node:os';
import { UsageError } from './usage-error.js';

export function authorOf(by: string | undefined): string {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    throw new UsageError('this machine has no user name for you: add --by <author>');
  }
}
