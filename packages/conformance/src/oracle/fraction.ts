/** An immutable fraction in lowest terms. */
export class Fraction {
  readonly n: bigint;
  readonly d: bigint;

  private constructor(n: bigint, d: bigint) {
    this.n = n;
    this.d = d;
  }

  /** `n / d`; `d` is positive. */
  static of(n: bigint | number, d: bigint | number = 1n): Fraction {
    const divisor = gcd(abs(BigInt(n)), BigInt(d));
    return new Fraction(BigInt(n) / divisor, BigInt(d) / divisor);
  }

  plus(other: Fraction): Fraction {
    return Fraction.of(this.n * other.d + other.n * this.d, this.d * other.d);
  }

  minus(other: Fraction): Fraction {
    return Fraction.of(this.n * other.d - other.n * this.d, this.d * other.d);
  }

  times(other: Fraction): Fraction {
    return Fraction.of(this.n * other.n, this.d * other.d);
  }

  over(other: Fraction): Fraction {
    return Fraction.of(this.n * other.d, this.d * other.n);
  }

  atMost(other: Fraction): boolean {
    return this.n * other.d <= other.n * this.d;
  }

  floor(): bigint {
    const quotient = this.n / this.d;
    return this.n < 0n && quotient * this.d !== this.n ? quotient - 1n : quotient;
  }

  ceil(): bigint {
    return -Fraction.of(-this.n, this.d).floor();
  }
}

export const ZERO: Fraction = Fraction.of(0n);

export function greater(a: Fraction, b: Fraction): Fraction {
  return a.atMost(b) ? b : a;
}

export function lesser(a: Fraction, b: Fraction): Fraction {
  return a.atMost(b) ? a : b;
}

export function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}

function abs(n: bigint): bigint {
  return n < 0n ? -n : n;
}
