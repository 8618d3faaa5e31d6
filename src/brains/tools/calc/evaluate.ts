/**
 * Works out one expression while it is read, by Pratt's method (top down operator precedence,
 * 1973): every operator binds with a power of its own. From loose to tight: + and −; *, / and %;
 * the sign before; ^, to the right; percent behind. So −2^2 is −4, and 2^−1 is a half.
 *
 * A `%` before a number, a name or a parenthesis is the remainder; anywhere else it is per cent.
 * Time is bounded by the length of the text: no loop depends on a value.
 */
import { constants, functions } from './functions.ts';
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
  tell,
  type Num,
} from './number.ts';
import { tokensOf, type Token } from './tokens.ts';

export type Evaluated =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'fault'; readonly text: string };

const depthMax = 64;
const signPower = 30;
const hundred = exact(100);
const zero = exact(0);

/** How tightly an operator between two operands binds, and how tightly what is on its right. */
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
  /** The first thing that went wrong: after it nothing is read any more. */
  #fault: string | null = null;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  result(): Evaluated {
    const value = this.#expression(0);
    const next = this.#next;
    if (next.kind !== 'end') this.#missing('an operator');
    if (this.#fault !== null) return { kind: 'fault', text: this.#fault };
    return { kind: 'value', text: tell(value) };
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
    const found = this.#next.kind === 'symbol' && this.#next.text === symbol;
    if (found) this.#at++;
    return found;
  }

  #fail(text: string): Num {
    this.#fault ??= text;
    return zero;
  }

  /** @param least operators that bind looser are left to the caller */
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
    if (token.kind === 'number') return this.#sound(literal(token.text));
    if (token.kind === 'name') return this.#named(token.text);
    if (token.kind === 'symbol') {
      if (token.text === '-') return negate(this.#expression(signPower));
      if (token.text === '+') return this.#expression(signPower);
      if (token.text === '(') return this.#closed(this.#expression(0));
    }
    return this.#fail(`a number is missing before ${shown(token)}.`);
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
    this.#closed(zero);
    if (this.#fault !== null) return zero;
    const { least, most } = called;
    if (args.length < least || args.length > most) {
      const count = least === most ? `${least}` : `${least} to ${most}`;
      return this.#fail(`${name} takes ${count} arguments, and has ${args.length}.`);
    }
    return this.#sound(called.apply(args));
  }

  #closed(value: Num): Num {
    return this.#takes(')') ? value : this.#missing('a )');
  }

  #missing(what: string): Num {
    const hint = this.#next.text === ',' ? ' Numbers have no separators.' : '';
    return this.#fail(`${what} is missing before ${shown(this.#next)}.${hint}`);
  }

  #isRemainder(): boolean {
    const after = this.#tokens[this.#at + 1]!;
    return after.kind === 'number' || after.kind === 'name' || after.text === '(';
  }

  #apply(symbol: string, left: Num, right: Num): Num {
    if (this.#fault !== null) return zero;
    if ((symbol === '/' || symbol === '%') && isZero(right))
      return this.#fail('it divides by zero.');
    return this.#sound(operate(symbol, left, right));
  }

  #sound(result: Num | string): Num {
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

function shown({ kind, text }: Token): string {
  return kind === 'end' ? 'the end' : `"${text.slice(0, 32)}"`;
}
