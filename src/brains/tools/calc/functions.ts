/** The functions and constants of calc. */
import type { Decimal } from 'decimal.js';
import {
  add,
  compare,
  divide,
  exact,
  isNoise,
  isZero,
  multiply,
  Near,
  near,
  negate,
  remainder,
  round,
  squareRoot,
  toInteger,
  tooLarge,
  tooNearZero,
  whole,
  withoutNoise,
  type Num,
} from './number.ts';

/** A number, or what is wrong with the arguments. */
type Applied = Num | string;

type Callable = {
  readonly least: number;
  readonly most: number;
  apply(args: readonly Num[]): Applied;
};

const argumentsMax = 64;
const factorialMax = 170;
/** The largest angle; for a larger one too few digits behind the point are true. */
const angleExponentMax = 15;

const halfTurn = near(Near.acos(-1));
const fullTurn = multiply(halfTurn, exact(2));
const degreesOfHalfTurn = exact(180);
const lnOf2 = near(Near.ln(2));
const lnOf10 = near(Near.ln(10));

export const constants: ReadonlyMap<string, Num> = new Map([
  ['pi', halfTurn],
  ['π', halfTurn],
  ['tau', fullTurn],
  ['e', near(Near.exp(1))],
]);

export const functions: ReadonlyMap<string, Callable> = new Map([
  real('cbrt', (x) => x.cbrt()),
  real('atan', (x) => angleOf(x, new Near(1))),
  real('sinh', hyperbolicSine),
  real('cosh', (x) => x.exp().plus(x.negated().exp()).div(2)),
  real('tanh', hyperbolicTangent),
  own('asin', 1, 1, ([x]) => ofUnit(x!, (sine, cosine) => angleOf(sine, cosine))),
  own('acos', 1, 1, ([x]) => ofUnit(x!, (cosine, sine) => angleOf(sine, cosine))),
  own('ln', 1, 1, ([x]) => naturalLogarithm(x!)),
  own('log2', 1, 1, ([x]) => divide(naturalLogarithm(x!), lnOf2)),
  own('log10', 1, 1, ([x]) => divide(naturalLogarithm(x!), lnOf10)),
  own('exp', 1, 1, exponential),
  own('sin', 1, 1, ([x]) => ofAngle(x!, (angle) => angle.sin())),
  own('cos', 1, 1, ([x]) => ofAngle(x!, (angle) => angle.cos())),
  own('tan', 1, 1, tangent),
  own('radians', 1, 1, ([x]) => multiply(divide(x!, degreesOfHalfTurn), halfTurn)),
  own('degrees', 1, 1, ([x]) => multiply(divide(x!, halfTurn), degreesOfHalfTurn)),
  own('atan2', 2, 2, ([y, x]) => near(angleOf(y!.value, x!.value))),
  own('hypot', 1, argumentsMax, (all) => near(Near.hypot(...all.map(({ value }) => value)))),
  own('sqrt', 1, 1, ([x]) => squareRoot(x!)),
  own('log', 1, 2, logarithm),
  own('abs', 1, 1, ([x]) => (compare(x!, exact(0)) < 0 ? negate(x!) : x!)),
  own('sign', 1, 1, ([x]) => exact(compare(x!, exact(0)))),
  own('floor', 1, 1, ([x]) => whole(x!, 'floor')),
  own('ceil', 1, 1, ([x]) => whole(x!, 'ceil')),
  own('trunc', 1, 1, ([x]) => whole(x!, 'trunc')),
  own('round', 1, 2, rounded),
  own('min', 1, argumentsMax, (all) => all.reduce((a, b) => (compare(b, a) < 0 ? b : a))),
  own('max', 1, argumentsMax, (all) => all.reduce((a, b) => (compare(b, a) > 0 ? b : a))),
  own('mod', 2, 2, modulo),
  own('factorial', 1, 1, factorial),
]);

type Entry = readonly [string, Callable];

function own(name: string, least: number, most: number, apply: Callable['apply']): Entry {
  return [name, { least, most, apply }];
}

function real(name: string, apply: (x: Decimal) => Decimal): Entry {
  return own(name, 1, 1, ([x]) => near(apply(near(x!.value).value)));
}

function exponential([x]: readonly Num[]): Applied {
  const raised = new Near(x!.value).exp();
  return raised.isZero() ? tooNearZero : near(raised);
}

/** The library's own function takes for ever where the argument is large. */
function hyperbolicSine(x: Decimal): Decimal {
  return x.abs().lt(1) ? x.sinh() : x.exp().minus(x.negated().exp()).div(2);
}

function hyperbolicTangent(x: Decimal): Decimal {
  if (x.abs().lt(1)) return x.tanh();
  const far = new Near(1).minus(new Near(2).div(x.abs().times(2).exp().plus(1)));
  return x.isNegative() ? far.negated() : far;
}

/** A value that differs from 1 only in digits that are not true is taken for 1. */
function ofUnit(
  { value, exact: isExact }: Num,
  apply: (x: Decimal, other: Decimal) => Decimal,
): Num {
  const given = new Near(value);
  const isOne = !isExact && isNoise(given.abs().minus(1), 0);
  const x = isOne ? new Near(given.isNegative() ? -1 : 1) : given;
  const other = new Near(1).minus(x).times(new Near(1).plus(x)).sqrt();
  return near(other.isNaN() ? other : apply(x, other));
}

/**
 * The angle of a point, in (−π, π]. The library's own function takes three times as long. A double
 * misses the angle by some 1e-16. What is missing equals its own tangent, but for its third power.
 */
function angleOf(y: Decimal, x: Decimal): Decimal {
  const scale = `1e${-Math.max(x.isZero() ? y.e : x.e, y.isZero() ? x.e : y.e)}`;
  const [top, right] = [new Near(y).times(scale), new Near(x).times(scale)];
  // A zero below zero would be another angle.
  const height = top.isZero() ? 0 : top.toNumber();
  const guess = new Near(Math.atan2(height, right.toNumber()));
  const [sine, cosine] = [guess.sin(), guess.cos()];
  const across = top.times(cosine).minus(right.times(sine));
  const along = right.times(cosine).plus(top.times(sine));
  return along.isZero() ? guess : guess.plus(across.div(along));
}

function naturalLogarithm({ value, exact: isExact }: Num): Num {
  const found = new Near(value).ln();
  return isExact ? near(found) : withoutNoise(found, 0);
}

function ofAngle(x: Num, apply: (angle: Decimal) => Decimal): Applied {
  if (x.value.e > angleExponentMax) return tooLarge;
  const found = apply(near(x.value).value);
  return x.exact ? near(found) : withoutNoise(found, x.value.e);
}

function tangent([x]: readonly Num[]): Applied {
  const sine = ofAngle(x!, (angle) => angle.sin());
  const cosine = ofAngle(x!, (angle) => angle.cos());
  if (typeof sine === 'string' || typeof cosine === 'string') return tooLarge;
  return divide(sine, cosine);
}

/** To one reader log is to the base 10, to another to the base e: it is never guessed. */
function logarithm([x, base]: readonly Num[]): Applied {
  if (base === undefined) return 'log(x) can be read in two ways: write ln(x) or log10(x).';
  return divide(naturalLogarithm(x!), naturalLogarithm(base));
}

function rounded([x, digits]: readonly Num[]): Applied {
  const count = digits === undefined ? 0 : (toInteger(digits)?.toNumber() ?? -1);
  if (count < 0 || count > 100) return 'round(x, digits) takes a whole number of digits, 0 to 100.';
  return round(x!, count);
}

/** With the sign of the divisor, as a clock counts. */
function modulo([a, b]: readonly Num[]): Applied {
  if (isZero(b!)) return 'it divides by zero.';
  const left = remainder(a!, b!);
  if (typeof left === 'string') return left;
  const crosses = !isZero(left) && left.value.isNegative() !== b!.value.isNegative();
  return crosses ? add(left, b!) : left;
}

function factorial([x]: readonly Num[]): Applied {
  const n = toInteger(x!)?.toNumber() ?? -1;
  if (n < 0 || n > factorialMax) return `factorial takes a whole number, 0 to ${factorialMax}.`;
  let product = exact(1);
  for (let factor = 2; factor <= n; factor++) product = multiply(product, exact(factor));
  return product;
}
