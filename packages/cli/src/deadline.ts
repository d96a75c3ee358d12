/** One deadline for a whole command. */

interface Deadline {
  /** Resolves as `work` does, or rejects if time runs out before. */
  keep<Value>(work: Promise<Value>): Promise<Value>;
  /** Call it when all is done: until then, the timer keeps the process alive. */
  end(): void;
}

/** Starts the timer. After `ms`, what is not done rejects with `late`. */
export function deadline(ms: number, late: Error): Deadline {
  let end = (): void => {};
  const over = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(late), ms);
    end = () => clearTimeout(timer);
  });
  // Time may run out while nothing waits.
  over.catch(() => {});
  return { keep: (work) => Promise.race([work, over]), end };
}
