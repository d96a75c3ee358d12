/**
 * Reads what a source file imports and exports. A plain reader is enough because the formatter puts every import and
 * export at the start of a line. What it does not understand there is an error, so that nothing is missed in silence.
 */

export interface Import {
  /** As written: `../base/clock.js`, `@spillway/core/store`. */
  readonly from: string;
  /** The names that are taken, as the other file calls them; `'*'` for all. */
  readonly names: readonly string[] | '*';
  /** Those of `names` that are left when the program runs: no types. */
  readonly values: readonly string[] | '*';
}

export interface Export {
  readonly name: string;
  readonly isType: boolean;
}

export interface Source {
  readonly imports: readonly Import[];
  readonly exports: readonly Export[];
  /** Where `export * from` points. */
  readonly stars: readonly string[];
}

const FROM =
  /^(import|export)\s+(type\s+)?(\*(?:\s+as\s+([\w$]+))?|\{[^}]*\}|[\w$]+(?:,\s*\{[^}]*\})?)\s+from\s+'([^']+)'/;
const LIST = /^export\s+(type\s+)?(\{[^}]*\});/;
const DECLARATION =
  /^export\s+(?:declare\s+|abstract\s+|async\s+)*(const|let|function|class|enum|interface|type)\b\*?\s+([\w$]+)/;
const SIDE_EFFECT = /^import\s+'([^']+)'/;
/** `await import('...')` and the type `import('...').Name`, except in a comment. */
const INLINE = /^(?!\s*(?:\*|\/\/|\/\*)).*?\bimport\(\s*'([^']+)'\s*\)/gm;

/** @throws Error for an import or export that it cannot read */
export function readSource(text: string, file: string): Source {
  const statements = [...text.matchAll(/^(?:import|export)\b(?!\()/gm)].map(({ index }) => {
    const statement = readStatement(text.slice(index));
    if (statement) return statement;
    const [before, after] = [text.slice(0, index), text.slice(index)];
    const line = before.split('\n').length;
    throw new Error(`${file}:${line}: the reader does not understand: ${after.split('\n', 1)[0]}`);
  });
  const inline = [...text.matchAll(INLINE)].map(([, from = '']) => takenWhole(from, false));
  return {
    imports: [...statements.flatMap(({ imports }) => imports), ...inline],
    exports: statements.flatMap(({ exports }) => exports),
    stars: statements.flatMap(({ stars }) => stars),
  };
}

/** What the statement at the start of `text` imports and exports. */
function readStatement(text: string): Source | undefined {
  const from = FROM.exec(text);
  if (from) {
    const [, verb, type, clause = '', alias, path = ''] = from;
    const isAll = clause.startsWith('*');
    const isType = type !== undefined;
    const names = isAll ? [] : namesIn(clause, isType);
    const taken = isAll ? takenWhole(path, isType) : takenByName(path, names);
    if (verb === 'import') return { imports: [taken], exports: [], stars: [] };
    if (isAll && alias === undefined) return { imports: [taken], exports: [], stars: [path] };
    return { imports: [taken], exports: alias ? [{ name: alias, isType }] : names, stars: [] };
  }
  const [, type, list] = LIST.exec(text) ?? [];
  if (list) return { imports: [], exports: namesIn(list, type !== undefined), stars: [] };
  const [, kind = '', name] = DECLARATION.exec(text) ?? [];
  if (name) {
    const isType = kind === 'interface' || kind === 'type';
    return { imports: [], exports: [{ name, isType }], stars: [] };
  }
  const path = SIDE_EFFECT.exec(text)?.[1];
  return path ? { imports: [takenByName(path, [])], exports: [], stars: [] } : undefined;
}

function takenWhole(from: string, isType: boolean): Import {
  return { from, names: '*', values: isType ? [] : '*' };
}

function takenByName(from: string, names: readonly Name[]): Import {
  const values = names.filter(({ isType }) => !isType);
  const originals = (some: readonly Name[]): string[] => some.map(({ original }) => original);
  return { from, names: originals(names), values: originals(values) };
}

interface Name extends Export {
  /** What the other file calls it. */
  readonly original: string;
}

/** The names in `{ a, type B as C }`, or the one name of a default import. */
function namesIn(clause: string, areTypes: boolean): Name[] {
  const names = clause.replaceAll(/\/\/.*$/gm, '').split(/[{},]/);
  return names
    .filter((text) => text.trim() !== '')
    .map((text) => {
      const [, type, original = '', name = original] =
        /^\s*(type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(text) ?? [];
      return { name, original, isType: areTypes || type !== undefined };
    });
}
