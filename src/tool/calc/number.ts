/**
 * The numbers of calc. A decimal number is exact (`coefficient` × 10 to the power of −`scale`) as
 * long as it has few enough digits, so 0.1 + 0.2 is 0.3 and 2^64 has its last digit; beyond that,
 * and after a function or a division that does not end, it is a double.
 */
export type Exact = {
  readonly kind: 'exact';
  readonly coefficient: bigint;
  /** Digits behind the point: 0 to `digitsMax`. */
  readonly scale: number;
};
export type Float = { readonly kind: 'float'; readonly number: number };
export type Num = Exact | Float;

/** An exact number has so many digits at most, and so many behind the point. */
export const digitsMax = 1_000;
/** A division that has not ended after so many digits behind the point is a double. */
const quotientDigits = 40;
/** Digits of a double that are told: the ones behind are noise of the binary form. */
const toldDigits = 15;
/** A number with more zeros than this behind the point is told with an exponent. */
const leadingZerosMax = 20;

/** What is said where a double would be infinite or zero in place of a number that is not. */
export const tooLarge =
  'a number on the way is too large or has no end: beyond 1.8e308 only exact arithmetic goes on.';
export const tooSmall =
  'a number on the way is too small: below 5e-324 only exact arithmetic goes on.';

export function float(number: number): Float {
  return { kind: 'float', number };
}

/** @param scale may be negative or beyond the limit: the number is then a double */
export function exact(coefficient: bigint, scale = 0): Num {
  if (coefficient === 0n) return { kind: 'exact', coefficient, scale: 0 };
  const digits = coefficient.toString();
  const zeros = Math.min(trailingZeros(digits), Math.max(scale, 0));
  const length = digits.length - zeros + Math.max(-scale, 0);
  if (scale - zeros > digitsMax || length > digitsMax) return float(Number(`${digits}e${-scale}`));
  if (scale < 0) return { kind: 'exact', coefficient: coefficient * tens(-scale), scale: 0 };
  const stripped = zeros === 0 ? coefficient : coefficient / tens(zeros);
  return { kind: 'exact', coefficient: stripped, scale: scale - zeros };
}

/** A literal as the tokenizer found it: digits, a point, an exponent. */
export function literal(text: string): Num {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [front = '', fraction = ''] = mantissa.split('.');
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(front + fraction);
  // A scale that a double could not hold either.
  if (Math.abs(scale) > 10 * digitsMax) return float(Number(text));
  return exact(digits, scale);
}

export function toNumber(value: Num): number {
  return value.kind === 'float' ? value.number : Number(`${value.coefficient}e${-value.scale}`);
}

export function isZero(value: Num): boolean {
  return toNumber(value) === 0 && (value.kind === 'float' || value.coefficient === 0n);
}

/** It is not zero, but the double next to it is. */
export function vanishes(value: Num): boolean {
  return toNumber(value) === 0 && !isZero(value);
}

/** It is exact, and beyond every double. */
export function overflows(value: Num): boolean {
  return value.kind === 'exact' && !Number.isFinite(toNumber(value));
}

/** @returns the whole number that it is exactly; null: it is none */
export function toInteger(value: Num): bigint | null {
  return value.kind === 'exact' && value.scale === 0 ? value.coefficient : null;
}

export function negate(value: Num): Num {
  return value.kind === 'float'
    ? float(-value.number)
    : { ...value, coefficient: -value.coefficient };
}

export function add(left: Num, right: Num): Num {
  if (left.kind === 'float' || right.kind === 'float') {
    return float(toNumber(left) + toNumber(right));
  }
  const [a, b, scale] = aligned(left, right);
  return exact(a + b, scale);
}

export function multiply(left: Num, right: Num): Num {
  if (left.kind === 'float' || right.kind === 'float') {
    return float(toNumber(left) * toNumber(right));
  }
  return exact(left.coefficient * right.coefficient, left.scale + right.scale);
}

/** @param right is not zero */
export function divide(left: Num, right: Num): Num {
  if (left.kind === 'float' || right.kind === 'float') {
    return float(toNumber(left) / toNumber(right));
  }
  const [a, b] = aligned(left, right);
  const scale = quotientDigits + Math.max(0, b.toString().length - a.toString().length);
  const numerator = a * tens(scale);
  const quotient = numerator / b;
  if (quotient * b === numerator) return exact(quotient, scale);
  return float(Number(`${quotient}e${-scale}`));
}

/** With the sign of `left`. @param right is not zero */
export function remainder(left: Num, right: Num): Num {
  if (left.kind === 'float' || right.kind === 'float') {
    return float(toNumber(left) % toNumber(right));
  }
  const [a, b, scale] = aligned(left, right);
  return exact(a % b, scale);
}

/** Exact where the exponent is a whole number and the result has few enough digits. */
export function power(base: Num, exponent: Num): Num {
  const times = toInteger(exponent);
  if (base.kind === 'exact' && times !== null) {
    const { coefficient, scale } = base;
    if (scale === 0 && coefficient * coefficient === 1n) {
      return exact(times % 2n === 0n ? 1n : coefficient);
    }
    const size = times < 0n ? -times : times;
    const digits = coefficient.toString().length - 1;
    if (size <= digitsMax * 4 && Number(size) * Math.max(digits, scale, 0.25) <= digitsMax) {
      const raised = exact(coefficient ** size, scale * Number(size));
      if (times >= 0n) return raised;
      return isZero(raised) ? float(Infinity) : divide(exact(1n), raised);
    }
  }
  return float(toNumber(base) ** toNumber(exponent));
}

/** Exact where the root is; NaN where there is none. */
export function squareRoot(value: Num): Num {
  if (value.kind === 'float' || value.coefficient < 0n) return float(Math.sqrt(toNumber(value)));
  const shift = value.scale % 2;
  const square = value.coefficient * tens(shift);
  const scale = (value.scale + shift) / 2;
  const root = wholeRoot(square);
  if (root * root === square) return exact(root, scale);
  if (!vanishes(value) && !overflows(value)) return float(Math.sqrt(toNumber(value)));
  const digits = wholeRoot(square * tens(2 * quotientDigits));
  return float(Number(`${digits}e${-scale - quotientDigits}`));
}

/** Rounded down, by Newton's method: some 20 steps for `digitsMax` digits. */
function wholeRoot(square: bigint): bigint {
  if (square === 0n) return 0n;
  let root = 1n << BigInt(square.toString(16).length * 2);
  for (;;) {
    const next = (root + square / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}

/** Negative, zero or positive, as `left` is less than, equal to or greater than `right`. */
export function compare(left: Num, right: Num): number {
  if (left.kind === 'float' || right.kind === 'float') return toNumber(left) - toNumber(right);
  const [a, b] = aligned(left, right);
  return a < b ? -1 : Number(a > b);
}

/** To so many digits behind the point; a half goes away from zero. @param digits 0 to 100 */
export function round(value: Num, digits: number): Num {
  if (value.kind === 'float') {
    const sign = value.number < 0 ? -1 : 1;
    return float(sign * Number(Math.abs(value.number).toFixed(digits)));
  }
  const { coefficient, scale } = value;
  if (scale <= digits) return value;
  const unit = tens(scale - digits);
  const half = (coefficient < 0n ? -unit : unit) / 2n;
  return exact((coefficient + half) / unit, digits);
}

/** The whole number next to it: towards zero (`trunc`), down or up. */
export function whole(value: Num, way: 'trunc' | 'floor' | 'ceil'): Num {
  if (value.kind === 'float') return float(Math[way](value.number));
  const unit = tens(value.scale);
  const toZero = value.coefficient / unit;
  const left = value.coefficient % unit;
  const beyond = (way === 'floor' && left < 0n && -1n) || (way === 'ceil' && left > 0n && 1n) || 0n;
  return exact(toZero + beyond);
}

/** @returns the number for a reader; null: it is not finite */
export function tell(value: Num): string | null {
  return value.kind === 'exact' ? tellExact(value) : tellFloat(value.number);
}

function tellExact({ coefficient, scale }: Exact): string {
  const sign = coefficient < 0n ? '-' : '';
  const digits = coefficient.toString().replace('-', '');
  if (scale === 0) return sign + digits;
  if (scale - digits.length > leadingZerosMax) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits[0]}${fraction}e-${scale - digits.length + 1}`;
  }
  const padded = digits.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

function tellFloat(number: number): string | null {
  if (!Number.isFinite(number)) return null;
  const rounded = Number(number.toPrecision(toldDigits));
  if (!Number.isFinite(rounded)) return number.toExponential();
  if (Math.abs(rounded) >= 10 ** toldDigits) return rounded.toExponential();
  return String(rounded === 0 ? 0 : rounded);
}

/** Both coefficients at the larger scale of the two. */
function aligned(left: Exact, right: Exact): [bigint, bigint, number] {
  const scale = Math.max(left.scale, right.scale);
  return [
    left.coefficient * tens(scale - left.scale),
    right.coefficient * tens(scale - right.scale),
    scale,
  ];
}

/** @param count within a few times `digitsMax` */
function tens(count: number): bigint {
  return 10n ** BigInt(count);
}

function trailingZeros(digits: string): number {
  let count = 0;
  while (count < digits.length && digits[digits.length - 1 - count] === '0') count++;
  return count;
}
