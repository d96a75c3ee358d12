/** A behaviour of another package: a sentence, a trial, and the result of the trial there and here. */

export interface Case<Subject> {
  /** What the other package does, in one sentence. */
  readonly does: string;
  /** Tries the behaviour; the results are compared. */
  readonly run: (subject: Subject) => Promise<unknown>;
  /** The result with the other package. */
  readonly theirs: unknown;
  /** How Spillway differs; undefined if it does the same. */
  readonly differs?: Difference;
}

interface Difference {
  /** What the trial shows here. */
  readonly ours: unknown;
  /** What Spillway does, and why. */
  readonly because: string;
}

/** A behaviour that is the same here. */
export function same<Subject>(
  does: string,
  shows: unknown,
  run: Case<Subject>['run'],
): Case<Subject> {
  return { does, run, theirs: shows };
}

/** A behaviour that is different here. */
export function differs<Subject>(
  does: string,
  { theirs, ...difference }: Difference & { readonly theirs: unknown },
  run: Case<Subject>['run'],
): Case<Subject> {
  return { does, run, theirs, differs: difference };
}

/** The behaviours of one package. */
export interface Suite<Subject> {
  readonly peer: string;
  readonly cases: readonly Case<Subject>[];
  /** The package itself, and the shim: its options, with Spillway below. New for each trial. */
  readonly theirs: () => Subject | Promise<Subject>;
  readonly ours: () => Subject | Promise<Subject>;
}
