/** The Redis user that docs/operations.md sets up: the only list of rights. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const OPERATIONS = join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md');

/** The arguments of the one `ACL SETUSER` in the page: a name, then rules; and the rules to add on a Cluster. */
export function userFromDocs(): {
  name: string;
  rules: string[];
  onCluster: string[];
  password: string;
} {
  const page = readFileSync(OPERATIONS, 'utf8');
  const [, text = ''] = /ACL SETUSER ([^`]*?)\n```/.exec(page) ?? [];
  const [, more = ''] = /On a Cluster, add (.*?)\. /s.exec(page) ?? [];
  const onCluster = [...more.matchAll(/`(\+.*?)`/g)].map(([, rule = '']) => rule);
  const [name = '', ...rules] = text.replace(/\\\n/g, ' ').trim().split(/\s+/);
  const password = rules.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
  return { name, rules, onCluster, password };
}
