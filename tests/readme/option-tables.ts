/** The options of an interface, from its source: names, types, defaults, and meanings from doc comments. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from './snippets.js';

export interface Option {
  readonly name: string;
  readonly type: string;
  /** Empty if omitting the option simply leaves it out; undefined if the option is required. */
  readonly defaultText: string | undefined;
  readonly meaning: string;
}

interface Interface {
  readonly parents: readonly string[];
  readonly own: readonly Option[];
}

const sources = new Map(
  sourceFiles().map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
);

export const allSources: string = [...sources.values()].join('\n');

/** Types that are unions of strings, by name, with these strings; and a type parameter. */
const strings = new Map<string, string>([
  ['OnStoreError', "'local' | 'allow' | 'deny'"],
  ['Mode', "'enforce' | 'shadow' | 'off'"],
  ['S', 'Store'],
]);
for (const text of sources.values()) {
  for (const [, name = '', type = ''] of text.matchAll(/^export type (\w+) =\s+([^;{(]*?);/gm)) {
    if (/^[|\s]*('[^']*'[|\s]*)+$/.test(type)) strings.set(name, withoutSpace(type));
  }
}

/** The options of an interface, with those that it inherits, in the order of their declaration. */
export function optionsOf(name: string, file: string = ''): readonly Option[] {
  const { own, parents } = parse(name, fileOf(name, file));
  const inherited = parents.flatMap((parent) => inheritedOf(parent, file));
  const names = new Set(own.map((option) => option.name));
  const others = inherited.filter((option) => !names.has(option.name));
  return [...own, ...new Map(others.map((option) => [option.name, option])).values()];
}

/**
 * The options of a parent: `Omit<LeaseOptions<Raw>, 'share'>`, `Pick<HintOptions, 'random'>`, or the name of an
 * interface.
 */
function inheritedOf(parent: string, file: string): readonly Option[] {
  const utility = /^(Omit|Pick)<(\w+)(?:<.*?>)?, (.*)>$/.exec(parent);
  const [, kind, base = parent.replace(/<.*/, ''), list = ''] = utility ?? [];
  const all = optionsOf(base, file);
  if (!kind) return all;
  const named = new Set([...list.matchAll(/'(\w+)'/g)].map(([, name]) => name));
  return all.filter((option) => named.has(option.name) === (kind === 'Pick'));
}

/** The file that declares an interface: `from`, a file of its package, or the first one that has it. */
function fileOf(name: string, from: string): string {
  const declares = (file: string): boolean =>
    new RegExp(`^(export )?interface ${name}\\b`, 'm').test(sources.get(file) ?? '');
  const all = [...sources.keys()].filter(declares);
  const folder = from.split('/').slice(0, 2).join('/');
  const found = declares(from) ? from : (all.find((file) => file.startsWith(folder)) ?? all[0]);
  if (!found) throw new Error(`no file declares ${name}`);
  return found;
}

function parse(name: string, file: string): Interface {
  const text = sources.get(file) ?? '';
  const begin = new RegExp(`^(export )?interface ${name}\\b`, 'm').exec(text)?.index ?? -1;
  if (begin < 0) throw new Error(`${file} does not declare ${name}`);
  const rest = text.slice(begin);
  const [declaration = ''] = rest.split('\n}\n');
  const [, head = '', body = ''] = /^([\s\S]*?\S) ?\{(?:\n|\}$)([\s\S]*)$/.exec(declaration) ?? [];
  const [, parents = ''] = withoutParameters(withoutSpace(head)).split(' extends ');
  return { parents: splitAtTop(parents), own: membersOf(body) };
}

/** A declaration without the type parameters of its name. */
function withoutParameters(head: string): string {
  const [name = '', ...others] = head.split('<');
  if (others.length === 0 || name.includes(' extends ')) return head;
  const rest = head.slice(name.length);
  let depth = 0;
  const end = [...rest].findIndex((char) => {
    depth += char === '<' ? 1 : char === '>' ? -1 : 0;
    return depth === 0;
  });
  return name + rest.slice(end + 1);
}

function membersOf(body: string): Option[] {
  const member =
    /(?: {2}\/\*\*([\s\S]*?)\*\/\n)? {2}readonly (\w+)(\?)?:([\s\S]*?);\n(?= {2}\S|\n|$)/g;
  return [...`${body}\n`.matchAll(member)].map(([, comment = '', name = '', mark, type = '']) => {
    const { meaning, defaultText } = toldBy(withoutSpace(comment.replace(/^\s*\* ?/gm, '')));
    return {
      name,
      type: typeText(withoutSpace(type)),
      defaultText: mark ? defaultText : undefined,
      meaning,
    };
  });
}

/** "`x` (default)", "all (`true`, default)", and "Default, and where it is empty: the address." */
const DEFAULT_IN_SENTENCE =
  /(`[^`]+`) \(default\)|\((`[^`]+`), default\)|Default, [^:]*: ([^.]*)\./;

/** Separates the sentence with the default from the rest of a doc comment. A sentence that says more stays. */
function toldBy(comment: string): { meaning: string; defaultText: string } {
  const text = comment.replace(/\{@link ([^}]*)\}/g, '`$1`');
  const sentence = /(?:^| )Default:? ((?:`[^`]*`|[^.`]|\.(?=\S))*)\.(?= |$)/.exec(text);
  if (!sentence)
    return {
      meaning: text.replace(' (default)', ''),
      defaultText: DEFAULT_IN_SENTENCE.exec(text)?.slice(1).find(Boolean) ?? '',
    };
  const [whole, said = ''] = sentence;
  return { meaning: text.replace(whole, '').trim(), defaultText: said };
}

/** A type for readers, without promises and undefined: the column "meaning" mentions these. */
function typeText(type: string): string {
  const bare = type.replace(/^\| /, '').replace(/ \| undefined$/, '');
  const perRequest = /^Per(?:Later)?<Raw, (.*)>$/.exec(bare)?.[1];
  if (perRequest) return `${typeText(perRequest)} or function`;
  const call = /^\(?(?:<[^(]*>)?\(([^()]*(?:\([^()]*\)[^()]*)*)\) =>/.exec(bare);
  if (call) {
    const names = splitAtTop(call[1] ?? '').map((parameter) => parameter.split(/\??:/)[0]);
    return `\`(${names.join(', ')}) => …\``;
  }
  if (bare.startsWith('(') && bare.endsWith(')')) return typeText(bare.slice(1, -1));
  const parts = splitAtTop(bare.replace(/readonly | \| undefined/g, ''), '|');
  return parts
    .filter((part) => part !== 'undefined')
    .map((part) => strings.get(part) ?? part)
    .flatMap((part) => splitAtTop(part, '|'))
    .map((part) => (/^\(.*=>/.test(part) ? 'function' : `\`${part}\``))
    .join(', ');
}

/** Splits at separators that stand in no bracket. */
function splitAtTop(text: string, separator = ','): string[] {
  const parts = [''];
  let depth = 0;
  for (const [index, char] of [...text].entries()) {
    if ('<({['.includes(char)) depth += 1;
    if ('])}'.includes(char) || (char === '>' && text[index - 1] !== '=')) depth -= 1;
    if (char === separator && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function sourceFiles(): string[] {
  return readdirSync(join(ROOT, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'testkit')
    .flatMap(({ name }) => {
      const folder = join(ROOT, 'packages', name, 'src');
      return readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
    })
    .sort();
}
