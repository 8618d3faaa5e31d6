/**
 * The numbers of calc: decimal numbers of the library decimal.js. A number is exact as long as it
 * has few enough digits, so 0.1 + 0.2 is 0.3 and 2^64 has its last digit. Beyond that, and after a
 * function or a division that does not end, it is near the true number. Then only digits that are
 * surely true are printed.
 *
 * The limits of digits and exponents bound the time: see docs/decisions/0019-decimal-js-for-calc.md
 * for the worst cases.
 */
import { Decimal } from 'decimal.js';

export type Num = { readonly value: Decimal; readonly exact: boolean };

/** An exact number has at most so many significant digits. */
const digitsMax = 1_000;
/** A number is smaller than 10 to this power, and larger than its reciprocal, or zero. */
const exponentMax = 10_000;
/** A division or a root that has not ended after so many digits is not exact. */
const endDigits = 100;
/** Digits of a number that is near the true one: those of decimal128 (IEEE 754). */
const nearDigits = 34;
/** How many of these are printed. */
const printedDigits = 15;
/**
 * A difference that is so many digits smaller than its near operands counts as zero: fewer of its
 * digits are true than are printed.
 */
const soundDigits = nearDigits - printedDigits - 1;

const settings = { defaults: true, rounding: Decimal.ROUND_HALF_UP } as const;
/** For results with as many digits as an exact number may have; prints an exponent if needed. */
const Exact = Decimal.clone({
  ...settings,
  precision: digitsMax,
  toExpNeg: -22,
  toExpPos: digitsMax,
});
/** Holds the product of any two exact numbers. */
const Product = Decimal.clone({ ...settings, precision: 2 * digitsMax });
const Ending = Decimal.clone({ ...settings, precision: endDigits });
/** Its static functions work on near numbers. */
export const Near = Decimal.clone({
  ...settings,
  precision: nearDigits,
  toExpNeg: -7,
  toExpPos: printedDigits,
});

/** @param value with `digitsMax` digits at most */
export function exact(value: Decimal.Value): Num {
  return { value: new Exact(value), exact: true };
}

export function near(value: Decimal): Num {
  return { value: new Near(value).toSignificantDigits(nearDigits), exact: false };
}

/** A literal from the tokenizer: digits, a point, an exponent; 256 characters at most. */
export function literal(text: string): Num {
  const value = new Exact(text);
  const isZeroAsWritten = /^[0.]*(?:e|$)/i.test(text);
  return value.isZero() && !isZeroAsWritten ? tooNearZero : exact(value);
}

/** @returns a sentence about what is wrong with a result; null: nothing */
export function faultOf({ value }: Num): string | null {
  if (value.isNaN()) return 'it has no real result.';
  if (!value.isFinite() || value.e >= exponentMax) return tooLarge;
  return value.e <= -exponentMax ? tooSmall : null;
}

const limit = (exponent: number): string => `the limit is 1e${exponent}.`;
export const tooLarge = `a number on the way is too large or has no end: ${limit(exponentMax)}`;
const tooSmall = `a number on the way is too small: ${limit(-exponentMax)}`;

/** Stands for a number that is not zero, but too small to be a number here. */
export const tooNearZero: Num = near(new Near(`1e-${2 * exponentMax}`));

export function isZero({ value }: Num): boolean {
  return value.isZero();
}

/** @returns the whole number that it exactly is; null: it is none */
export function toInteger({ value, exact: isExact }: Num): Decimal | null {
  return isExact && value.isInteger() ? value : null;
}

export function negate(number: Num): Num {
  // The library knows a negative zero.
  return isZero(number) ? exact(0) : { value: number.value.negated(), exact: number.exact };
}

export function add(left: Num, right: Num): Num {
  if (isZero(left)) return right;
  if (isZero(right)) return left;
  const [a, b] = [left.value, right.value];
  const first = Math.max(a.e, b.e);
  const last = Math.min(lastPlace(a), lastPlace(b));
  if (left.exact && right.exact && first - last + 2 <= digitsMax)
    return exact(new Exact(a).plus(b));
  return withoutNoise(new Near(a).plus(b), first);
}

/**
 * A difference may consist of digits that were never true: 1/3 × 3 − 1 is 0.
 * @param place the exponent of its largest near operand
 */
export function withoutNoise(value: Decimal, place: number): Num {
  return isNoise(value, place) ? exact(0) : near(value);
}

export function isNoise(value: Decimal, place: number): boolean {
  return value.isZero() || value.e < place - soundDigits;
}

export function multiply(left: Num, right: Num): Num {
  const digits = left.value.sd() + right.value.sd();
  const fits = left.exact && right.exact && digits <= digitsMax;
  if (fits) return exact(new Exact(left.value).times(right.value));
  return near(new Near(left.value).times(right.value));
}

export function divide(left: Num, right: Num): Num {
  const [a, b] = [left.value, right.value];
  if (left.exact && right.exact && !a.isZero() && !b.isZero()) {
    const isLong = a.e - b.e > endDigits - nearDigits;
    const quotient = new (isLong ? Exact : Ending)(a).div(b);
    if (new Product(quotient).times(b).eq(a)) return exact(quotient);
  }
  return near(new Near(a).div(b));
}

/** With the sign of `left`. @returns a sentence if no digit of the result would be true */
export function remainder(left: Num, right: Num): Num | string {
  const [a, b] = [left.value, right.value];
  if (isZero(left) || isZero(right)) return near(new Near(a).mod(b));
  const quotientDigits = a.e - b.e + 1;
  if (left.exact && right.exact) {
    if (quotientDigits > digitsMax) return tooLarge;
    const digits = Math.min(a.e, b.e) - Math.min(lastPlace(a), lastPlace(b)) + 1;
    const rest = new Exact(a).mod(b);
    return digits <= digitsMax ? exact(rest) : near(rest);
  }
  if (quotientDigits > soundDigits) return tooLarge;
  const rest = new Near(a).mod(b);
  const untilNext = new Near(b).abs().minus(rest.abs());
  return isNoise(untilNext, a.e) ? exact(0) : withoutNoise(rest, a.e);
}

/**
 * Exact if the exponent is a whole number and the result has few enough digits.
 * @returns a sentence if no digit of the result would be true
 */
export function power(base: Num, exponent: Num): Num | string {
  const times = toInteger(exponent)?.toNumber() ?? null;
  const size = Math.abs(times ?? 0);
  if (base.exact && times !== null && Number.isSafeInteger(times)) {
    if (size * digitsPerFactor(base.value) < digitsMax) {
      const raised = exact(new Exact(base.value).pow(size));
      return times < 0 ? divide(exact(1), raised) : raised;
    }
  }
  if (!base.exact && exponent.value.e > soundDigits) return tooLarge;
  // The library's own function takes twice as long if the exponent is no whole number.
  const raised = exponent.value.isInteger()
    ? new Near(base.value).pow(exponent.value)
    : new Near(base.value).ln().times(exponent.value).exp();
  if (raised.isZero() && !isZero(base)) return tooNearZero;
  return near(raised);
}

/** By how many digits each factor makes a product longer. */
function digitsPerFactor(value: Decimal): number {
  if (value.isZero()) return 0;
  const places = value.sd() - 1;
  return places + Math.log10(Number(value.abs().times(`1e${-value.e}`)));
}

/** Exact if the root has few enough digits; NaN if there is no root. */
export function squareRoot({ value, exact: isExact }: Num): Num {
  if (isExact && value.sd() <= 2 * endDigits) {
    const root = new Ending(value).sqrt();
    if (new Product(root).times(root).eq(value)) return exact(root);
  }
  return near(new Near(value).sqrt());
}

/** Negative, zero or positive, as `left` is less than, equal to or greater than `right`. */
export function compare(left: Num, right: Num): number {
  return add(left, negate(right)).value.comparedTo(0);
}

/** To so many digits behind the point; a half goes away from zero. @param digits 0 to 100 */
export function round(number: Num, digits: number): Num {
  return { value: denoised(number).toDecimalPlaces(digits), exact: number.exact };
}

/** The next whole number: towards zero (`trunc`), down or up. */
export function whole(number: Num, way: 'trunc' | 'floor' | 'ceil'): Num {
  return { value: denoised(number)[way](), exact: number.exact };
}

/** The number that a near number stands for: three, if it is a little less than three. */
function denoised({ value, exact: isExact }: Num): Decimal {
  return isExact ? value : new Near(value).toSignificantDigits(soundDigits);
}

/** @returns the number as text for a reader */
export function format({ value, exact: isExact }: Num): string {
  return isExact
    ? new Exact(value).toString()
    : new Near(value).toSignificantDigits(printedDigits).toString();
}

/** The exponent of the last digit that is not zero. @param value not zero */
function lastPlace(value: Decimal): number {
  return value.e - value.sd() + 1;
}
