/**
 * Evaluates one expression while reading it, by Pratt's method (top down operator precedence,
 * 1973): every operator binds with a power of its own. From loose to tight: + and −; *, / and %;
 * the sign before; ^, to the right; percent behind. So −2^2 is −4, and 2^−1 is a half.
 *
 * A `%` before a number, a name or a parenthesis is the remainder; anywhere else it is per cent.
 * The length of the text bounds the time: no loop depends on a value.
 */
import {
  add,
  divide,
  exact,
  faultOf,
  isZero,
  literal,
  multiply,
  negate,
  power,
  remainder,
  format,
  compare,
  isNoise,
  Near,
  near,
  round,
  squareRoot,
  toInteger,
  tooLarge,
  tooNearZero,
  whole,
  withoutNoise,
  type Num,
} from './number.ts';
import type { Decimal } from 'decimal.js';

// The functions and constants of calc.

/** A number, or a sentence about what is wrong with the arguments. */
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

const constants: ReadonlyMap<string, Num> = new Map([
  ['pi', halfTurn],
  ['π', halfTurn],
  ['tau', fullTurn],
  ['e', near(Near.exp(1))],
]);

const functions: ReadonlyMap<string, Callable> = new Map([
  realFunction('cbrt', (x) => x.cbrt()),
  realFunction('atan', (x) => angleOf(x, new Near(1))),
  realFunction('sinh', hyperbolicSine),
  realFunction('cosh', (x) => x.exp().plus(x.negated().exp()).div(2)),
  realFunction('tanh', hyperbolicTangent),
  callable('asin', 1, 1, ([x]) => ofUnit(x!, (sine, cosine) => angleOf(sine, cosine))),
  callable('acos', 1, 1, ([x]) => ofUnit(x!, (cosine, sine) => angleOf(sine, cosine))),
  callable('ln', 1, 1, ([x]) => naturalLogarithm(x!)),
  callable('log2', 1, 1, ([x]) => divide(naturalLogarithm(x!), lnOf2)),
  callable('log10', 1, 1, ([x]) => divide(naturalLogarithm(x!), lnOf10)),
  callable('exp', 1, 1, exponential),
  callable('sin', 1, 1, ([x]) => ofAngle(x!, (angle) => angle.sin())),
  callable('cos', 1, 1, ([x]) => ofAngle(x!, (angle) => angle.cos())),
  callable('tan', 1, 1, tangent),
  callable('radians', 1, 1, ([x]) => multiply(divide(x!, degreesOfHalfTurn), halfTurn)),
  callable('degrees', 1, 1, ([x]) => multiply(divide(x!, halfTurn), degreesOfHalfTurn)),
  callable('atan2', 2, 2, ([y, x]) => near(angleOf(y!.value, x!.value))),
  callable('hypot', 1, argumentsMax, (all) => near(Near.hypot(...all.map(({ value }) => value)))),
  callable('sqrt', 1, 1, ([x]) => squareRoot(x!)),
  callable('log', 1, 2, logarithm),
  callable('abs', 1, 1, ([x]) => (compare(x!, exact(0)) < 0 ? negate(x!) : x!)),
  callable('sign', 1, 1, ([x]) => exact(compare(x!, exact(0)))),
  callable('floor', 1, 1, ([x]) => whole(x!, 'floor')),
  callable('ceil', 1, 1, ([x]) => whole(x!, 'ceil')),
  callable('trunc', 1, 1, ([x]) => whole(x!, 'trunc')),
  callable('round', 1, 2, rounded),
  callable('min', 1, argumentsMax, (all) => all.reduce((a, b) => (compare(b, a) < 0 ? b : a))),
  callable('max', 1, argumentsMax, (all) => all.reduce((a, b) => (compare(b, a) > 0 ? b : a))),
  callable('mod', 2, 2, modulo),
  callable('factorial', 1, 1, factorial),
]);

type Entry = readonly [string, Callable];

function callable(name: string, least: number, most: number, apply: Callable['apply']): Entry {
  return [name, { least, most, apply }];
}

function realFunction(name: string, apply: (x: Decimal) => Decimal): Entry {
  return callable(name, 1, 1, ([x]) => near(apply(near(x!.value).value)));
}

function exponential([x]: readonly Num[]): Applied {
  const value = new Near(x!.value).exp();
  return value.isZero() ? tooNearZero : near(value);
}

/** The library's own function never ends for a large argument. */
function hyperbolicSine(x: Decimal): Decimal {
  return x.abs().lt(1) ? x.sinh() : x.exp().minus(x.negated().exp()).div(2);
}

function hyperbolicTangent(x: Decimal): Decimal {
  if (x.abs().lt(1)) return x.tanh();
  const result = new Near(1).minus(new Near(2).div(x.abs().times(2).exp().plus(1)));
  return x.isNegative() ? result.negated() : result;
}

/** A value that differs from 1 only in untrue digits counts as 1. */
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
 * misses the angle by some 1e-16. The missing part equals its own tangent, except for its third
 * power.
 */
function angleOf(y: Decimal, x: Decimal): Decimal {
  const scale = `1e${-Math.max(x.isZero() ? y.e : x.e, y.isZero() ? x.e : y.e)}`;
  const top = new Near(y).times(scale);
  const right = new Near(x).times(scale);
  // A negative zero would be another angle.
  const height = top.isZero() ? 0 : top.toNumber();
  const guess = new Near(Math.atan2(height, right.toNumber()));
  const sine = guess.sin();
  const cosine = guess.cos();
  const across = top.times(cosine).minus(right.times(sine));
  const along = right.times(cosine).plus(top.times(sine));
  return along.isZero() ? guess : guess.plus(across.div(along));
}

function naturalLogarithm({ value, exact: isExact }: Num): Num {
  const result = new Near(value).ln();
  return isExact ? near(result) : withoutNoise(result, 0);
}

function ofAngle(x: Num, apply: (angle: Decimal) => Decimal): Applied {
  if (x.value.e > angleExponentMax) return tooLarge;
  const result = apply(near(x.value).value);
  return x.exact ? near(result) : withoutNoise(result, x.value.e);
}

function tangent([x]: readonly Num[]): Applied {
  const sine = ofAngle(x!, (angle) => angle.sin());
  const cosine = ofAngle(x!, (angle) => angle.cos());
  if (typeof sine === 'string' || typeof cosine === 'string') return tooLarge;
  return divide(sine, cosine);
}

/** Some readers take log as base 10, others as base e: calc never guesses. */
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
  const rest = remainder(a!, b!);
  if (typeof rest === 'string') return rest;
  const crosses = !isZero(rest) && rest.value.isNegative() !== b!.value.isNegative();
  return crosses ? add(rest, b!) : rest;
}

function factorial([x]: readonly Num[]): Applied {
  const n = toInteger(x!)?.toNumber() ?? -1;
  if (n < 0 || n > factorialMax) return `factorial takes a whole number, 0 to ${factorialMax}.`;
  let product = exact(1);
  for (let factor = 2; factor <= n; factor++) product = multiply(product, exact(factor));
  return product;
}

/** The tokens of an expression. `end` stands once, behind the last one. */
type Token = {
  readonly kind: 'number' | 'name' | 'symbol' | 'end';
  readonly text: string;
};

type Tokens =
  | { readonly kind: 'tokens'; readonly tokens: readonly Token[] }
  | { readonly kind: 'fault'; readonly text: string };

/** UTF-16 code units. */
const lengthMax = 256;
const number = String.raw`(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)`;
const tokensName = String.raw`(?<name>\p{L}[\p{L}\d_]*)`;
const tokensSymbol = String.raw`(?<symbol>\*\*|[\-+*\/%^\(\),×·÷−])`;
/** Signs that people write, and their meaning. */
const operatorOfSign: Readonly<Record<string, string>> = {
  '**': '^',
  '×': '*',
  '·': '*',
  '÷': '/',
  '−': '-',
};

function tokensOf(expression: string): Tokens {
  const text = expression.trim();
  if (text === '') return { kind: 'fault', text: 'it is empty.' };
  if (text.length > lengthMax) {
    return { kind: 'fault', text: `it is longer than ${lengthMax} characters.` };
  }
  const tokens: Token[] = [];
  const word = new RegExp(String.raw`\s*(?:${number}|${tokensName}|${tokensSymbol})`, 'uy');
  for (let at = 0; at < text.length; at = word.lastIndex) {
    const groups = word.exec(text)?.groups;
    if (groups === undefined) return { kind: 'fault', text: unreadable(text.slice(at)) };
    const { number: digits, name: letters, symbol: sign } = groups;
    if (digits !== undefined) tokens.push({ kind: 'number', text: digits });
    else if (letters !== undefined) tokens.push({ kind: 'name', text: letters.toLowerCase() });
    else tokens.push({ kind: 'symbol', text: operatorOfSign[sign!] ?? sign! });
  }
  return { kind: 'tokens', tokens: [...tokens, { kind: 'end', text: '' }] };
}

function unreadable(rest: string): string {
  const [character = ''] = rest.trim();
  return `${JSON.stringify(character)} cannot stand in an expression.`;
}

export type Evaluated =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'fault'; readonly text: string };

const depthMax = 64;
const signPower = 30;
const hundred = exact(100);
const zero = exact(0);

/** How tightly an operator between two operands binds on its left, and on its right. */
const infix: ReadonlyMap<string, readonly [left: number, right: number]> = new Map([
  ['+', [10, 11]],
  ['-', [10, 11]],
  ['*', [20, 21]],
  ['/', [20, 21]],
  ['%', [20, 21]],
  ['^', [41, 40]],
]);

/** @returns the value as text, at most some 1,000 digits; or a sentence about what is wrong */
export function evaluate(expression: string): Evaluated {
  const read = tokensOf(expression);
  if (read.kind === 'fault') return read;
  return new Evaluation(read.tokens).result();
}

class Evaluation {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  /** The first fault: after it no more tokens are read. */
  #fault: string | null = null;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  result(): Evaluated {
    const value = this.#expression(0);
    const next = this.#next;
    if (next.kind !== 'end') this.#missing('an operator');
    if (this.#fault !== null) return { kind: 'fault', text: this.#fault };
    return { kind: 'value', text: format(value) };
  }

  get #next(): Token {
    return this.#fault === null ? this.#tokens[this.#at]! : end;
  }

  #take(): Token {
    const token = this.#next;
    if (token.kind !== 'end') this.#at++;
    return token;
  }

  #takes(symbol: string): boolean {
    const isNext = this.#next.kind === 'symbol' && this.#next.text === symbol;
    if (isNext) this.#at++;
    return isNext;
  }

  #fail(text: string): Num {
    this.#fault ??= text;
    return zero;
  }

  /** @param least the caller handles operators that bind looser */
  #expression(least: number): Num {
    if (this.#depth === depthMax) return this.#fail(`it is nested deeper than ${depthMax}.`);
    this.#depth++;
    let value = this.#operand();
    for (;;) {
      const symbol = this.#next.kind === 'symbol' ? this.#next.text : '';
      if (symbol === '%' && !this.#isRemainder()) {
        this.#take();
        value = this.#apply('/', value, hundred);
        continue;
      }
      const powers = infix.get(symbol);
      if (powers === undefined || powers[0] < least) break;
      this.#take();
      value = this.#apply(symbol, value, this.#expression(powers[1]));
    }
    this.#depth--;
    return value;
  }

  #operand(): Num {
    const token = this.#take();
    if (token.kind === 'number') return this.#checked(literal(token.text));
    if (token.kind === 'name') return this.#named(token.text);
    if (token.kind === 'symbol') {
      if (token.text === '-') return negate(this.#expression(signPower));
      if (token.text === '+') return this.#expression(signPower);
      if (token.text === '(') return this.#closeParenthesis(this.#expression(0));
    }
    return this.#fail(`a number is missing before ${describeToken(token)}.`);
  }

  #named(name: string): Num {
    const called = functions.get(name);
    if (called === undefined) {
      const known = constants.get(name);
      return known ?? this.#fail(`${name.slice(0, 32)} is no function or constant here.`);
    }
    if (!this.#takes('(')) return this.#fail(`${name} is a function: write ${name}(…).`);
    const args = [this.#expression(0)];
    while (this.#takes(',')) args.push(this.#expression(0));
    this.#closeParenthesis(zero);
    if (this.#fault !== null) return zero;
    const { least, most } = called;
    if (args.length < least || args.length > most) {
      const count = least === most ? `${least}` : `${least} to ${most}`;
      return this.#fail(`${name} takes ${count} arguments, and has ${args.length}.`);
    }
    return this.#checked(called.apply(args));
  }

  #closeParenthesis(value: Num): Num {
    return this.#takes(')') ? value : this.#missing('a )');
  }

  #missing(what: string): Num {
    const hint = this.#next.text === ',' ? ' Numbers have no separators.' : '';
    return this.#fail(`${what} is missing before ${describeToken(this.#next)}.${hint}`);
  }

  #isRemainder(): boolean {
    const after = this.#tokens[this.#at + 1]!;
    return after.kind === 'number' || after.kind === 'name' || after.text === '(';
  }

  #apply(symbol: string, left: Num, right: Num): Num {
    if (this.#fault !== null) return zero;
    if ((symbol === '/' || symbol === '%') && isZero(right))
      return this.#fail('it divides by zero.');
    return this.#checked(operate(symbol, left, right));
  }

  #checked(result: Num | string): Num {
    const fault = typeof result === 'string' ? result : faultOf(result);
    return fault === null ? (result as Num) : this.#fail(fault);
  }
}

const end: Token = { kind: 'end', text: '' };

function operate(symbol: string, left: Num, right: Num): Num | string {
  if (symbol === '+') return add(left, right);
  if (symbol === '-') return add(left, negate(right));
  if (symbol === '*') return multiply(left, right);
  if (symbol === '/') return divide(left, right);
  return symbol === '%' ? remainder(left, right) : power(left, right);
}

function describeToken({ kind, text }: Token): string {
  return kind === 'end' ? 'the end' : `"${text.slice(0, 32)}"`;
}
