/** One deadline for a whole command. */

interface Deadline {
  /** Resolves as `work` does, or rejects if time runs out before. */
  race<Value>(work: Promise<Value>): Promise<Value>;
  /** Call it when all is done: until then, the timer keeps the process alive. */
  clearTimer(): void;
}

/** Starts the timer. After `ms`, what is not done rejects with `late`. */
export function deadline(ms: number, late: Error): Deadline {
  let clearTimer = (): void => {};
  const over = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(late), ms);
    clearTimer = () => clearTimeout(timer);
  });
  // Time may run out while nothing waits.
  over.catch(() => {});
  return { race: (work) => Promise.race([work, over]), clearTimer };
}
