/** One time in which a whole command must be done. */

interface Deadline {
  /** `work`, if it ends in time. */
  keep<Value>(work: Promise<Value>): Promise<Value>;
  /** To be called when all is done: until then, it keeps the process alive. */
  end(): void;
}

/** Begins now; what is not done after `ms` rejects with `late`. */
export function deadline(ms: number, late: Error): Deadline {
  let end = (): void => {};
  const over = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(late), ms);
    end = () => clearTimeout(timer);
  });
  // It may pass while nobody waits for anything.
  over.catch(() => {});
  return { keep: (work) => Promise.race([work, over]), end };
}
