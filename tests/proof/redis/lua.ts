/**
 * Compiles Lua 5.1, as Redis runs it, to JavaScript. Strings are JavaScript strings of bytes, nil is undefined. Of Lua
 * it leaves out what no script of ours uses (coroutines, metatables, `%b` patterns): such a script fails to compile or
 * to run, it never decides wrongly. `npm run prove:agreement` compares the results with those of a real Redis.
 */

import { type Chunk, type Expression, parse, type Statement } from 'luaparse';
import * as runtime from './lua-runtime.js';

/** A compiled script: runs with the globals `KEYS` and `ARGV` that it is given. */
export type Compiled = (globals: Record<string, unknown>) => unknown;

/** @throws SyntaxError if the text is not the Lua that this compiler knows */
export function compile(text: string): Compiled {
  const chunk = parse(text, {
    luaVersion: '5.1',
    locations: true,
    encodingMode: 'x-user-defined',
  });
  const code = new Compiler().chunk(chunk);
  const names = Object.keys(runtime);
  const make = new Function('runtime', `const { ${names.join(', ')} } = runtime;\n${code}`);
  return make(runtime) as Compiled;
}

const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
  '^': 'power',
  '..': 'concat',
};

const COMPARISONS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);

class Compiler {
  /** The JavaScript names of the local variables in scope, innermost block last. */
  private readonly scopes: Map<string, string>[] = [];
  private names = 0;
  /** Temporary variables of each function that is being compiled, innermost last. */
  private readonly temporaries: string[][] = [];

  chunk({ body }: Chunk): string {
    return `return (G) => {\n${this.functionBody([], body)}\n};`;
  }

  private functionBody(parameters: readonly string[], body: readonly Statement[]): string {
    this.temporaries.push([]);
    const inner = this.block(body, parameters);
    const own = this.temporaries.pop() as string[];
    return `${own.length > 0 ? `let ${own.join(', ')};\n` : ''}${inner}`;
  }

  /**
   * Statements in a scope of their own.
   *
   * @param given variables that the scope begins with, already declared
   * @param until the condition after which a loop over the statements ends
   */
  private block(
    body: readonly Statement[],
    given: readonly string[] = [],
    until?: Expression,
  ): string {
    this.scopes.push(new Map(given.map((name) => [name, this.nameOf(name)])));
    const code = body.map((one) => this.statement(one));
    if (until) code.push(`if (${this.condition(until)}) break;`);
    this.scopes.pop();
    return code.join('\n');
  }

  private nameOf(name: string): string {
    this.names += 1;
    return `${name}$${this.names}`;
  }

  private declare(name: string): string {
    const own = this.nameOf(name);
    this.scopes.at(-1)?.set(name, own);
    return own;
  }

  private find(name: string): string | undefined {
    return this.scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  private temporary(): string {
    const name = this.nameOf('t');
    this.temporaries.at(-1)?.push(name);
    return name;
  }

  private statement(node: Statement): string {
    switch (node.type) {
      case 'LocalStatement': {
        const values = this.values(node.init, node.variables.length);
        const names = node.variables.map(({ name }) => this.declare(name));
        if (typeof values === 'string') return `let [${names.join(', ')}] = ${values};`;
        return names.map((name, at) => `let ${name} = ${values[at] ?? 'undefined'};`).join(' ');
      }
      case 'AssignmentStatement': {
        const values = this.values(node.init, node.variables.length);
        if (typeof values !== 'string' && values.length === 1) {
          return this.assign(node.variables[0] as Expression, values[0] as string);
        }
        const list = typeof values === 'string' ? values : `[${values.join(', ')}]`;
        const all = this.temporary();
        const each = node.variables.map((one, at) => this.assign(one, `${all}[${at}]`));
        return `${all} = ${list}; ${each.join(' ')}`;
      }
      case 'CallStatement':
        return `${this.expression(node.expression)};`;
      case 'ReturnStatement': {
        if (node.arguments.length === 0) return 'return;';
        const [only] = node.arguments;
        if (node.arguments.length === 1) return `return ${this.many(only as Expression)};`;
        return `return several(${this.list(node.arguments)});`;
      }
      case 'IfStatement':
        return node.clauses
          .map((clause, at) => {
            const body = this.block(clause.body);
            if (clause.type === 'ElseClause') return ` else {\n${body}\n}`;
            return `${at > 0 ? ' else ' : ''}if (${this.condition(clause.condition)}) {\n${body}\n}`;
          })
          .join('');
      case 'WhileStatement':
        return `while (${this.condition(node.condition)}) {\n${this.block(node.body)}\n}`;
      case 'RepeatStatement': {
        // The condition sees the variables of the body.
        return `for (;;) {\n${this.block(node.body, [], node.condition)}\n}`;
      }
      case 'DoStatement':
        return `{\n${this.block(node.body)}\n}`;
      case 'BreakStatement':
        return 'break;';
      case 'ForNumericStatement': {
        const [start, end] = [this.expression(node.start), this.expression(node.end)];
        const step = node.step ? this.expression(node.step) : '1';
        const [at, last, by] = [this.nameOf('at'), this.nameOf('end'), this.nameOf('by')];
        this.scopes.push(new Map());
        const own = this.declare(node.variable.name);
        const body = this.block(node.body);
        this.scopes.pop();
        // Each of these is a variable of the block: loops inside loops, and recursion, have their own.
        return `{ let ${at} = number(${start}), ${last} = number(${end}), ${by} = number(${step});
for (; ${by} > 0 ? ${at} <= ${last} : ${at} >= ${last}; ${at} += ${by}) { let ${own} = ${at};\n${body}\n} }`;
      }
      case 'ForGenericStatement': {
        const iterated = this.expression(node.iterators[0] as Expression);
        this.scopes.push(new Map());
        const names = node.variables.map(({ name }) => this.declare(name));
        const body = this.block(node.body);
        this.scopes.pop();
        return `for (let [${names.join(', ')}] of iterate(${iterated})) {\n${body}\n}`;
      }
      case 'FunctionDeclaration': {
        if (!node.isLocal || node.identifier?.type !== 'Identifier') {
          throw new SyntaxError('only local functions are compiled');
        }
        const name = this.declare(node.identifier.name);
        return `let ${name} = ${this.expression(node as unknown as Expression)};`;
      }
      default:
        throw new SyntaxError(`no ${node.type} is compiled`);
    }
  }

  private assign(target: Expression, value: string): string {
    if (target.type === 'Identifier') {
      const own = this.find(target.name);
      if (own === undefined) throw new SyntaxError(`${target.name} would be a global variable`);
      return `${own} = ${value};`;
    }
    if (target.type === 'MemberExpression') {
      return `setField(${this.expression(target.base)}, '${target.identifier.name}', ${value});`;
    }
    if (target.type === 'IndexExpression') {
      return `set(${this.expression(target.base)}, ${this.expression(target.index)}, ${value});`;
    }
    throw new SyntaxError(`nothing is assigned to a ${target.type}`);
  }

  /** The values for so many variables: one expression each, or one expression of a list. */
  private values(nodes: readonly Expression[], count: number): string[] | string {
    const last = nodes.at(-1);
    if (last && isMany(last) && nodes.length < count) return `[${this.list(nodes)}]`;
    return nodes.map((node) => this.expression(node));
  }

  /** Arguments, elements or returned values: the last may be several. */
  private list(nodes: readonly Expression[]): string {
    return nodes
      .map((node, at) =>
        at === nodes.length - 1 && isMany(node)
          ? `...all(${this.many(node)})`
          : this.expression(node),
      )
      .join(', ');
  }

  private condition(node: Expression): string {
    const code = this.expression(node);
    return isBoolean(node) ? code : `isTrue(${code})`;
  }

  /** One value. */
  private expression(node: Expression): string {
    return isMany(node) ? `first(${this.many(node)})` : this.many(node);
  }

  /** One value or, of a call, a {@link runtime.Multi}. */
  private many(node: Expression): string {
    switch (node.type) {
      case 'NilLiteral':
        return 'undefined';
      case 'BooleanLiteral':
        return String(node.value);
      case 'NumericLiteral':
        return String(node.value);
      case 'StringLiteral':
        return JSON.stringify(bytes(node.value));
      case 'Identifier': {
        const own = this.find(node.name);
        return own ?? `globalOf(G, '${node.name}')`;
      }
      case 'UnaryExpression': {
        const operand = this.expression(node.argument);
        if (node.operator === 'not') return `!${this.condition(node.argument)}`;
        return `${node.operator === '-' ? 'negative' : 'length'}(${operand})`;
      }
      case 'BinaryExpression': {
        const [left, right] = [this.expression(node.left), this.expression(node.right)];
        const { operator } = node;
        if (operator === '==') return `(${left} === ${right})`;
        if (operator === '~=') return `(${left} !== ${right})`;
        if (COMPARISONS.has(operator)) {
          // Numbers are compared directly; the rest, and errors, are for the runtime.
          return operator.startsWith('<')
            ? `${operator === '<' ? 'less' : 'atMost'}(${left}, ${right})`
            : `${operator === '>' ? 'less' : 'atMost'}(${right}, ${left})`;
        }
        const name = ARITHMETIC[operator];
        if (name === undefined) throw new SyntaxError(`no operator ${operator}`);
        return `${name}(${left}, ${right})`;
      }
      case 'LogicalExpression': {
        const kept = this.temporary();
        const left = `isTrue(${kept} = ${this.expression(node.left)})`;
        const right = this.expression(node.right);
        return node.operator === 'and'
          ? `(${left} ? ${right} : ${kept})`
          : `(${left} ? ${kept} : ${right})`;
      }
      case 'MemberExpression':
        if (node.indexer === ':') throw new SyntaxError('a method without a call');
        return `field(${this.expression(node.base)}, '${node.identifier.name}')`;
      case 'IndexExpression':
        return `get(${this.expression(node.base)}, ${this.expression(node.index)})`;
      case 'CallExpression': {
        const { base } = node;
        const line = node.loc?.start.line ?? 0;
        if (base.type === 'MemberExpression' && base.indexer === ':') {
          const self = this.expression(base.base);
          const rest = node.arguments.length > 0 ? `, ${this.list(node.arguments)}` : '';
          return `callMethod(${line}, '${base.identifier.name}', ${self}${rest})`;
        }
        if (base.type === 'Identifier' && base.name === 'error' && !this.find('error')) {
          return `raise(${this.list(node.arguments)}, ${line})`;
        }
        return `callable(${this.expression(base)}, ${line})(${this.list(node.arguments)})`;
      }
      case 'TableConstructorExpression':
        return this.table(node.fields);
      case 'FunctionDeclaration': {
        this.scopes.push(new Map());
        const names = node.parameters.map((one) => {
          if (one.type !== 'Identifier') throw new SyntaxError('no varargs are compiled');
          return this.declare(one.name);
        });
        const body = this.functionBody([], node.body);
        this.scopes.pop();
        return `((${names.join(', ')}) => {\n${body}\n})`;
      }
      default:
        throw new SyntaxError(`no ${node.type} is compiled`);
    }
  }

  private table(
    fields: Extract<Expression, { type: 'TableConstructorExpression' }>['fields'],
  ): string {
    const elements: Expression[] = [];
    const members: string[] = [];
    for (const one of fields) {
      if (one.type === 'TableValue') elements.push(one.value);
      else if (one.type === 'TableKeyString') {
        members.push(`${one.key.name}: ${this.expression(one.value)}`);
      } else throw new SyntaxError('no computed keys are compiled');
    }
    return `new Table([${this.list(elements)}], { __proto__: null, ${members.join(', ')} })`;
  }
}

function isMany({ type }: Expression): boolean {
  return type === 'CallExpression';
}

function isBoolean(node: Expression): boolean {
  if (node.type === 'UnaryExpression') return node.operator === 'not';
  if (node.type !== 'BinaryExpression') return false;
  return COMPARISONS.has(node.operator) || node.operator === '==' || node.operator === '~=';
}

/** The bytes of a literal: the parser marks those above 127 by U+F700. */
function bytes(text: string): string {
  return text.replace(/[\uf780-\uf7ff]/g, (one) => String.fromCharCode(one.charCodeAt(0) & 255));
}
