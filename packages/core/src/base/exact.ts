/** a x b / c as a whole part and a remainder below c. */
export interface Quotient {
  readonly whole: number;
  readonly rest: number;
}

/**
 * Computes a x b / c of non-negative integers exactly. BigInt is used only if the product exceeds 2^53. A whole part
 * beyond 2^53 is returned as `Number.MAX_SAFE_INTEGER`, with remainder 0.
 */
export function mulDiv(a: number, b: number, c: number): Quotient {
  const product = a * b;
  if (product > Number.MAX_SAFE_INTEGER) return wideMulDiv(a, b, c);
  // This is exact, because below 2^53 a quotient of integers never rounds up across a whole number.
  const whole = Math.floor(product / c);
  return { whole, rest: product - whole * c };
}

function wideMulDiv(a: number, b: number, c: number): Quotient {
  const wide = BigInt(a) * BigInt(b);
  const whole = wide / BigInt(c);
  if (whole > BigInt(Number.MAX_SAFE_INTEGER)) return { whole: Number.MAX_SAFE_INTEGER, rest: 0 };
  return { whole: Number(whole), rest: Number(wide % BigInt(c)) };
}

export function mulAddDiv(a: number, b: number, c: number, d: number): number {
  const sum = a * b + c;
  return sum <= Number.MAX_SAFE_INTEGER ? Math.floor(sum / d) : wideMulAddDiv(a, b, c, d);
}

function wideMulAddDiv(a: number, b: number, c: number, d: number): number {
  return Number((BigInt(a) * BigInt(b) + BigInt(c)) / BigInt(d));
}

export function productAtMost(a: number, b: number, c: number, d: number): boolean {
  const left = a * b;
  const right = c * d;
  if (left <= Number.MAX_SAFE_INTEGER && right <= Number.MAX_SAFE_INTEGER) return left <= right;
  return BigInt(a) * BigInt(b) <= BigInt(c) * BigInt(d);
}
