import { describe, expect, it } from 'vitest';
import { type Priority, Ranking } from '../../src/shed/priority.js';
import { request } from './stubs.js';

/** The class of a request, by name. */
function classOf(
  priority: Priority | undefined,
  method: string,
  path?: string,
  faults: unknown[] = [],
): string {
  const ranking = new Ranking(priority);
  const rank = ranking.rankOf(request(method, path), (error) => faults.push(error));
  return ranking.classes[ranking.classes.length - 1 - rank]!;
}

describe('the class of a request', () => {
  it.each([
    ['GET', 'get'],
    ['HEAD', 'get'],
    ['OPTIONS', 'get'],
    ['POST', 'post'],
    ['PUT', 'post'],
    ['PATCH', 'post'],
    ['DELETE', 'post'],
    ['BREW', 'post'],
  ])('by method: %s is %s', (method, name) => {
    expect(classOf(undefined, method)).toBe(name);
  });

  it('is test where the hook says so', () => {
    const priority: Priority = { isTest: ({ path }) => path === '/test' };
    expect(classOf(priority, 'POST', '/test')).toBe('test');
    expect(classOf(priority, 'POST', '/')).toBe('post');
  });

  it('is what the function says, critical too', () => {
    expect(classOf(() => 'critical', 'GET')).toBe('critical');
    expect(classOf({ classify: () => 'test', isTest: () => false }, 'GET')).toBe('test');
  });

  it.each<[string, Priority]>([
    ['nothing', () => undefined],
    ['an unknown class', () => 'Critical'],
    ['a property of objects', () => '__proto__'],
    ['no string', () => 3 as unknown as string],
    [
      'an error',
      () => {
        throw new Error('no user');
      },
    ],
    [
      'an error of the hook',
      {
        isTest: () => {
          throw new Error('no user');
        },
      },
    ],
  ])('is by method when the function answers %s', (_, priority) => {
    expect(classOf(priority, 'GET')).toBe('get');
    expect(classOf(priority, 'POST')).toBe('post');
  });

  it('tells of a function that throws, and of a hook that throws', () => {
    const fails = () => {
      throw new Error('no user');
    };
    const faults: unknown[] = [];
    classOf({ classify: fails, isTest: fails }, 'GET', '/', faults);
    expect(faults).toEqual([new Error('no user'), new Error('no user')]);
  });

  it('may be one of any number of classes; one that is not listed is shed first, never last', () => {
    const classes = ['gold', 'silver', 'bronze', 'tin', 'lead'];
    expect(classOf({ classes, classify: ({ path }) => path.slice(1) }, 'GET', '/tin')).toBe('tin');
    expect(classOf({ classes }, 'GET')).toBe('lead');
    expect(classOf({ classes: ['post', 'get'] }, 'POST')).toBe('get');
  });
});

it.each<[string, unknown]>([
  ['one class', { classes: ['all'] }],
  ['a class twice', { classes: ['a', 'b', 'a'] }],
  ['an empty name', { classes: ['a', ''] }],
  ['no list', { classes: 'critical' }],
  ['null', null],
  ['a word', 'critical'],
  ['a classifier that is none', { classify: 'path' }],
  ['a hook that is none', { isTest: true }],
])('%s is no priority', (_, priority) => {
  expect(() => new Ranking(priority as Priority)).toThrow(/SPW_OPTION_INVALID/);
});
