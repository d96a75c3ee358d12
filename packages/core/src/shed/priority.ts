/** Which class a request belongs to, and so when it is shed. */

import { SpillwayError, show } from '../base/errors.js';
import { isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { LimitRequest } from '../contract/request.js';

/** The classes, from the one shed last to the one shed first. */
const DEFAULT_CLASSES: readonly string[] = ['critical', 'post', 'get', 'test'];

/** The class of a request; undefined, or one not listed, means the class by method. */
export type Classify<Raw = unknown> = (request: LimitRequest<Raw>) => string | undefined;

/** How requests are told apart. */
export interface PriorityOptions<Raw = unknown> {
  /**
   * At least two names, from the class that is shed last, the critical one, to the one shed first. Default
   * `['critical', 'post', 'get', 'test']`.
   */
  readonly classes?: readonly string[] | undefined;
  /** Names a request's class. Default: by method. Whoever can choose what it looks at chooses the class. */
  readonly classify?: Classify<Raw> | undefined;
  /** Whether a request is test traffic, where `classify` does not say: then its class is `test`. */
  readonly isTest?: ((request: LimitRequest<Raw>) => boolean) | undefined;
}

/** A function that names the class of a request, or the classes with how they are told apart. */
export type Priority<Raw = unknown> = Classify<Raw> | PriorityOptions<Raw>;

/** Ranks requests: 0 is shed first, `classes.length - 1` is critical. */
export class Ranking<Raw = unknown> {
  /** From the one shed last to the one shed first. */
  readonly classes: readonly string[];
  /** By rank. */
  readonly names: readonly string[];
  private readonly ranks = new Map<string, number>();
  private readonly classify: Classify<Raw> | undefined;
  private readonly isTest: PriorityOptions<Raw>['isTest'];

  /** @throws SpillwayError `SPW_OPTION_INVALID` */
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
   * `fault` is told of a callback that throws: what comes after it decides, so that an accident neither protects a
   * request nor refuses it.
   */
  rankOf(request: LimitRequest<Raw>, fault: (error: unknown) => void): number {
    try {
      const own: unknown = this.classify?.(request);
      const rank = typeof own === 'string' ? this.ranks.get(own) : undefined;
      if (rank !== undefined) return rank;
      if (own !== undefined && typeof own !== 'string') fault(new Junk('priority', own));
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

  /**
   * The rank of a class that was not named by the user's function: never the critical one; shed first if it is not
   * listed.
   */
  private inferred(name: string): number {
    const rank = this.ranks.get(name) ?? 0;
    return rank === this.classes.length - 1 ? 0 : rank;
  }
}

function check<Raw>(options: PriorityOptions<Raw>): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`priority must be a function, or an object with classes, got ${show(options)}`);
  }
  const { classes = DEFAULT_CLASSES, classify, isTest } = options;
  const names = Array.isArray(classes) ? (classes as readonly unknown[]) : [];
  const areNames = names.every((name) => typeof name === 'string' && name !== '');
  if (names.length < 2 || !areNames || new Set(names).size !== names.length) {
    throw invalid(`priority.classes must be two or more different names, got ${show(classes)}`);
  }
  for (const [name, value] of Object.entries({ classify, isTest })) {
    if (value !== undefined && typeof value !== 'function') {
      throw invalid(`priority.${name} must be a function, got ${show(value)}`);
    }
  }
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('SPW_OPTION_INVALID', message);
}
