import { checkCallback, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { LimitRequest } from '../contract/request.js';

const DEFAULT_CLASSES: readonly string[] = ['critical', 'post', 'get', 'test'];

/**
 * Returns the class of a request. If it returns undefined or an unlisted class (a fault), `isTest` and the method
 * decide.
 */
export type Classify<Raw = unknown> = (request: LimitRequest<Raw>) => string | undefined;

/** How requests are classified. */
export interface PriorityOptions<Raw = unknown> {
  /**
   * At least two names, from the critical class to the one that is shed first. Default `['critical', 'post', 'get',
   * 'test']`.
   */
  readonly classes?: readonly string[] | undefined;
  /** Returns a request's class. Don't read it from values that clients choose. Default: by method. */
  readonly classify?: Classify<Raw> | undefined;
  /** Whether a request is test traffic, of the class `test`. Called only if `classify` returns no listed class. */
  readonly isTest?: ((request: LimitRequest<Raw>) => boolean) | undefined;
}

const NAMES: NamesOf<PriorityOptions> = { classes: 1, classify: 1, isTest: 1 };

/** A function that returns the class of a request, or the classes and how to assign them. */
export type Priority<Raw = unknown> = Classify<Raw> | PriorityOptions<Raw>;

/** Ranks requests: rank 0 is shed first, rank `classes.length - 1` is critical. */
export class Ranking<Raw = unknown> {
  /** The classes, from the one that is shed last to the one that is shed first. */
  readonly classes: readonly string[];
  /** The classes by rank, from the one that is shed first. */
  readonly names: readonly string[];
  private readonly ranks = new Map<string, number>();
  private readonly classify: Classify<Raw> | undefined;
  private readonly isTest: PriorityOptions<Raw>['isTest'];

  constructor(priority: Priority<Raw> = {}) {
    const options = typeof priority === 'function' ? { classify: priority } : priority;
    check(options);
    this.classes = [...(options.classes ?? DEFAULT_CLASSES)];
    this.names = [...this.classes].reverse();
    this.classes.forEach((name, index) => {
      this.ranks.set(name, this.classes.length - 1 - index);
    });
    this.classify = options.classify;
    this.isTest = options.isTest;
  }

  /**
   * Returns the rank of a request. If `classify` or `isTest` fails, calls `fault` and uses the next rule: `isTest`,
   * then the method.
   */
  rankOf(request: LimitRequest<Raw>, fault: (error: unknown) => void): number {
    try {
      const own: unknown = this.classify?.(request);
      const rank = typeof own === 'string' ? this.ranks.get(own) : undefined;
      if (rank !== undefined) return rank;
      if (own !== undefined) fault(new Junk('priority', own));
    } catch (error) {
      fault(error);
    }
    return this.isTestTraffic(request, fault)
      ? this.inferred('test')
      : this.byMethod(request.method);
  }

  isCritical(request: LimitRequest<Raw>, fault: (error: unknown) => void): boolean {
    return this.rankOf(request, fault) === this.classes.length - 1;
  }

  private isTestTraffic(request: LimitRequest<Raw>, fault: (error: unknown) => void): boolean {
    try {
      const own: unknown = this.isTest?.(request);
      if (isThenable(own)) fault(new Junk('priority.isTest', own));
      return own === true;
    } catch (error) {
      fault(error);
      return false;
    }
  }

  private byMethod(method: string): number {
    const reads = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
    return this.inferred(reads ? 'get' : 'post');
  }

  /** Never the critical rank: a class that is critical, or missing in `classes`, is shed first. */
  private inferred(name: string): number {
    const rank = this.ranks.get(name) ?? 0;
    return rank === this.classes.length - 1 ? 0 : rank;
  }
}

function check<Raw>(options: PriorityOptions<Raw>): void {
  if (!isPlainObject(options)) {
    throw mustBe('priority', 'a function, or an object with classes', options);
  }
  checkNames('priority', options, NAMES);
  const { classes = DEFAULT_CLASSES, classify, isTest } = options;
  const names = Array.isArray(classes) ? (classes as readonly unknown[]) : [];
  const areNames = names.every((name) => typeof name === 'string' && name !== '');
  if (names.length < 2 || !areNames || new Set(names).size !== names.length) {
    throw mustBe('priority.classes', 'two or more different names', classes);
  }
  checkCallback('priority.classify', classify);
  checkCallback('priority.isTest', isTest);
}
