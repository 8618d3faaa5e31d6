/** The functions and constants of calc. */
import { faultOf } from './faults.ts';
import {
  add,
  compare,
  exact,
  float,
  isZero,
  negate,
  overflows,
  remainder,
  round,
  squareRoot,
  toInteger,
  tooLarge,
  tooSmall,
  toNumber,
  vanishes,
  whole,
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

export const constants: ReadonlyMap<string, Num> = new Map([
  ['pi', float(Math.PI)],
  ['π', float(Math.PI)],
  ['tau', float(2 * Math.PI)],
  ['e', float(Math.E)],
]);

/** n! at place n. */
const factorials: readonly bigint[] = Array.from({ length: factorialMax }).reduce<bigint[]>(
  (known, _, n) => [...known, known[n]! * BigInt(n + 1)],
  [1n],
);

export const functions: ReadonlyMap<string, Callable> = new Map([
  ...(
    [
      ['cbrt', Math.cbrt],
      ['exp', Math.exp],
      ['ln', Math.log],
      ['log2', Math.log2],
      ['log10', Math.log10],
      ['sin', Math.sin],
      ['cos', Math.cos],
      ['tan', Math.tan],
      ['asin', Math.asin],
      ['acos', Math.acos],
      ['atan', Math.atan],
      ['sinh', Math.sinh],
      ['cosh', Math.cosh],
      ['tanh', Math.tanh],
      ['radians', (degrees: number): number => (degrees / 180) * Math.PI],
      ['degrees', (radians: number): number => (radians / Math.PI) * 180],
    ] as const
  ).map(([name, apply]) => real(name, 1, 1, apply)),
  real('atan2', 2, 2, Math.atan2),
  real('hypot', 1, argumentsMax, Math.hypot),
  own('sqrt', 1, 1, root),
  own('log', 1, 2, logarithm),
  own('abs', 1, 1, ([x]) => (compare(x!, exact(0n)) < 0 ? negate(x!) : x!)),
  own('sign', 1, 1, ([x]) => exact(BigInt(Math.sign(compare(x!, exact(0n)))))),
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

/** Functions that are zero where their argument is 1. All others are so only where it is 0. */
const zeroAtOne: ReadonlySet<string> = new Set(['ln', 'log2', 'log10', 'acos']);

/** A function of doubles; the caller sees to other results that are not finite. */
function real(
  name: string,
  least: number,
  most: number,
  apply: (...args: number[]) => number,
): Entry {
  return own(name, least, most, (args) => {
    const result = apply(...args.map(toNumber));
    const finite = Number.isFinite(result);
    if (!finite && args.some(vanishes)) return tooSmall;
    if ((!finite || args.length > 1) && args.some(overflows)) return tooLarge;
    if (result !== 0 || zeroAtOne.has(name)) return float(result);
    const zeros = name === 'atan2' ? args.slice(0, 1) : args;
    return zeros.every(isZero) ? exact(0n) : tooSmall;
  });
}

function root([x]: readonly Num[]): Applied {
  const found = squareRoot(x!);
  return isZero(found) && !isZero(x!) ? tooSmall : found;
}

/** To one reader log is to the base 10, to another to the base e: it is never guessed. */
function logarithm([x, base]: readonly Num[]): Applied {
  if (base === undefined) return 'log(x) can be read in two ways: write ln(x) or log10(x).';
  if (vanishes(x!) || vanishes(base)) return tooSmall;
  if (overflows(x!) || overflows(base)) return tooLarge;
  const [of, to] = [toNumber(x!), toNumber(base)];
  if (to === 10) return float(Math.log10(of));
  if (to === 2) return float(Math.log2(of));
  return float(Math.log(of) / Math.log(to));
}

function rounded([x, digits]: readonly Num[]): Applied {
  const count = digits === undefined ? 0n : toInteger(digits);
  if (count === null || count < 0n || count > 100n) {
    return 'round(x, digits) takes a whole number of digits, 0 to 100.';
  }
  return round(x!, Number(count));
}

/** With the sign of the divisor, as a clock counts. */
function modulo([a, b]: readonly Num[]): Applied {
  if (isZero(b!)) return 'it divides by zero.';
  const left = remainder(a!, b!);
  const fault = faultOf('%', a!, b!, left);
  if (fault !== null) return fault;
  const zero = exact(0n);
  const crosses = !isZero(left) && compare(left, zero) < 0 !== compare(b!, zero) < 0;
  return crosses ? add(left, b!) : left;
}

function factorial([x]: readonly Num[]): Applied {
  const n = toInteger(x!);
  const found =
    n === null || n < 0n || n > BigInt(factorialMax) ? undefined : factorials[Number(n)];
  if (found !== undefined) return exact(found);
  return `factorial takes a whole number, 0 to ${factorialMax}.`;
}
