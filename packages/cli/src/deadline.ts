interface Deadline {
  race<Value>(work: Promise<Value>): Promise<Value>;
  /** Must be called after the work, because the timer keeps the process alive. */
  clearTimer(): void;
}

export function deadline(ms: number, late: Error): Deadline {
  let clearTimer = (): void => {};
  const expired = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(late), ms);
    clearTimer = () => clearTimeout(timer);
  });
  // Time may run out while nobody awaits this promise. That must not be an unhandled rejection.
  expired.catch(() => {});
  return { race: (work) => Promise.race([work, expired]), clearTimer };
}
