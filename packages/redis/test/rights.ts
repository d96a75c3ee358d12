/** The Redis user that docs/operations.md sets up: the only list of rights. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const OPERATIONS = join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md');

/** The arguments of the one `ACL SETUSER` in the page: a name, then rules. */
export function userFromDocs(): { name: string; rules: string[]; password: string } {
  const [, text = ''] = /ACL SETUSER ([^`]*?)\n```/.exec(readFileSync(OPERATIONS, 'utf8')) ?? [];
  const [name = '', ...rules] = text.replace(/\\\n/g, ' ').trim().split(/\s+/);
  const password = rules.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
  return { name, rules, password };
}
