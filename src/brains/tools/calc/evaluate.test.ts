/** Calc compared with references, and with hostile input. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decimal } from 'decimal.js';
import * as fc from 'fast-check';
import { evaluate } from './evaluate.ts';
import { runs } from '../../../../test/support/runs.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const settings = { seed, numRuns: runs(500) };
test.before(() => console.log(`seed ${seed}`));

const valueOf = (expression: string): string => {
  const evaluated = evaluate(expression);
  assert.equal(evaluated.kind, 'value', `${expression}: ${evaluated.text}`);
  return evaluated.text;
};
const big = fc.bigInt({ min: -(10n ** 55n), max: 10n ** 55n });
const signed = (value: bigint): string => `(${value})`;

test('whole numbers are added, subtracted and multiplied as BigInt does it', () => {
  const all = fc.property(big, big, big, (a, b, c) => {
    const expression = `${signed(a)} * ${signed(b)} - ${signed(c)} + ${signed(a)}`;
    assert.equal(valueOf(expression), String(a * b - c + a));
  });
  fc.assert(all, settings);
});

test('remainders and exact quotients are those of BigInt', () => {
  const divisor = big.filter((value) => value !== 0n);
  const all = fc.property(big, divisor, (a, b) => {
    assert.equal(valueOf(`${signed(a)} % ${signed(b)}`), String(a % b));
    assert.equal(valueOf(`${signed(a * b)} / ${signed(b)}`), String(a));
  });
  fc.assert(all, settings);
});

test('powers are those of BigInt', () => {
  const base = fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n });
  const all = fc.property(base, fc.nat(60), (a, n) => {
    assert.equal(valueOf(`${signed(a)}^${n}`), String(a ** BigInt(n)));
  });
  fc.assert(all, settings);
});

test('decimal numbers keep their cents, as whole cents do', () => {
  const cents = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
  const asDecimal = (value: number): string => `(${value < 0 ? '-' : ''}${decimal(value)})`;
  const decimal = (value: number): string => {
    const digits = String(Math.abs(value)).padStart(3, '0');
    return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
  };
  const all = fc.property(cents, cents, (a, b) => {
    const sum = valueOf(`(${asDecimal(a)} + ${asDecimal(b)}) * 100`);
    assert.equal(sum, String(a + b));
  });
  fc.assert(all, settings);
});

test('a quotient is right to its fifteenth digit', () => {
  const divisor = big.filter((value) => value !== 0n);
  const all = fc.property(big, divisor, (a, b) => {
    const [top, bottom] = fractionOf(valueOf(`${signed(a)} / ${signed(b)}`));
    // |printed − a/b| is at most half of the fifteenth digit.
    const off = absolute(top * b - a * bottom) * 2n * 10n ** 14n;
    assert.ok(off <= absolute(a * bottom), `${a} / ${b}`);
  });
  fc.assert(all, settings);
});

const absolute = (value: bigint): bigint => (value < 0n ? -value : value);

/** The value of calc's text, as a fraction. */
function fractionOf(text: string): readonly [bigint, bigint] {
  const [, whole = '', behind = '', exponent = '0'] =
    /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text) ?? [];
  const scale = behind.length - Number(exponent);
  const digits = BigInt(whole + behind);
  return scale < 0 ? [digits * 10n ** BigInt(-scale), 1n] : [digits, 10n ** BigInt(scale)];
}

/** Multiples of 2^-16: a text with sixteen digits behind the point is exactly the double. */
const between = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: min * 2 ** 16, max: max * 2 ** 16 }).map((whole) => whole / 2 ** 16);
const exactly = (x: number): string => `(${x.toFixed(16)})`;
const anyReal = between(-10_000, 10_000);
const unit = between(-1, 1);
const positive = between(0, 10_000).filter((x) => x > 0);
const small = between(-20, 20);

/** By name of a function: its arguments, and the result of Math. */
const references = {
  sqrt: [positive, Math.sqrt],
  cbrt: [anyReal, Math.cbrt],
  exp: [small, Math.exp],
  ln: [positive, Math.log],
  log2: [positive, Math.log2],
  log10: [positive, Math.log10],
  sin: [small, Math.sin],
  cos: [small, Math.cos],
  tan: [small, Math.tan],
  asin: [unit, Math.asin],
  acos: [unit, Math.acos],
  atan: [anyReal, Math.atan],
  sinh: [small, Math.sinh],
  cosh: [small, Math.cosh],
  tanh: [small, Math.tanh],
  radians: [anyReal, (x: number): number => (x / 180) * Math.PI],
  degrees: [anyReal, (x: number): number => (x / Math.PI) * 180],
} satisfies Readonly<Record<string, readonly [typeof unit, (x: number) => number]>>;

for (const [name, [domain, reference]] of Object.entries(references)) {
  test(`${name} is what Math says, as far as doubles go`, () => {
    const all = fc.property(domain, (x) => {
      const printed = Number(valueOf(`${name}(${exactly(x)})`));
      const expected = reference(x);
      const off = Math.abs(printed - expected) / Math.max(Math.abs(expected), 1e-3);
      assert.ok(off < 1e-11, `${name}(${x}) is ${expected}, not ${printed}`);
    });
    fc.assert(all, { ...settings, numRuns: 40 });
  });
}

test('angles and powers of two numbers are what Math says, as far as doubles go', () => {
  const all = fc.property(small, small, positive, (a, b, c) => {
    const expected = { atan2: Math.atan2(a, b), hypot: Math.hypot(a, b), '^': c ** (a / 10) };
    const printed = {
      atan2: valueOf(`atan2(${exactly(a)}, ${exactly(b)})`),
      hypot: valueOf(`hypot(${exactly(a)}, ${exactly(b)})`),
      '^': valueOf(`${exactly(c)} ^ (${exactly(a)} / 10)`),
    };
    for (const name of ['atan2', 'hypot', '^'] as const) {
      const off = Math.abs(Number(printed[name]) - expected[name]);
      assert.ok(off <= 1e-11 * Math.abs(expected[name]) + 1e-300, `${name} of ${a}, ${b}, ${c}`);
    }
  });
  fc.assert(all, settings);
});

test('inverse angles have the digits that the library finds on its longer way', () => {
  const Reference = Decimal.clone({ precision: 50, defaults: true });
  const all = fc.property(unit, anyReal, (sine, slope) => {
    const places = (text: string): string => new Reference(text).toSignificantDigits(15).toString();
    for (const [name, x] of [
      ['asin', sine],
      ['acos', sine],
      ['atan', slope],
    ] as const) {
      const printed = places(valueOf(`${name}(${x})`));
      assert.equal(printed, places(new Reference(String(x))[name]().toString()), `${name}(${x})`);
    }
  });
  fc.assert(all, { ...settings, numRuns: 20 });
});

/** A tree of doubles and its text, with every operator in parentheses, or by precedence alone. */
const { tree } = fc.letrec<{ tree: { text: string; value: number } }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 1, max: 50 }).map((value) => ({ text: String(value), value })),
    fc
      .tuple(tie('tree'), fc.constantFrom('+', '-', '*'), tie('tree'), fc.constantFrom(' ', ''))
      .map(([left, operator, right, space]) => {
        const text = `(${left.text}${space}${operator}${space}${right.text})`;
        if (operator === '*') return { text, value: left.value * right.value };
        return { text, value: left.value + (operator === '-' ? -right.value : right.value) };
      }),
  ),
}));

test('nested expressions are those of Number, while these are exact', () => {
  const all = fc.property(tree, ({ text, value }) => {
    fc.pre(text.length <= 256 && Number.isSafeInteger(value));
    assert.equal(valueOf(text), String(value + 0));
  });
  fc.assert(all, settings);
});

test('operators in a row bind as in JavaScript', () => {
  const operator = fc.constantFrom('+', '-', '*', '/');
  const more = fc.array(fc.tuple(operator, fc.integer({ min: 1, max: 9 })), { maxLength: 20 });
  const all = fc.property(fc.integer({ min: 1, max: 9 }), more, (first, rest) => {
    const text = first + rest.map(([sign, value]) => `${sign}${value}`).join('');
    const printed = Number(valueOf(text));
    assert.ok(
      Math.abs(printed - byHand(first, rest)) <= 1e-9 * Math.max(1, Math.abs(printed)),
      text,
    );
  });
  fc.assert(all, settings);
});

function byHand(first: number, rest: readonly (readonly [string, number])[]): number {
  let sum = 0;
  let product = first;
  for (const [sign, value] of rest) {
    if (sign === '*') product *= value;
    else if (sign === '/') product /= value;
    else {
      sum += product;
      product = sign === '-' ? -value : value;
    }
  }
  return sum + product;
}

const hostile: readonly string[] = [
  '9^9^9^9^9',
  '9'.repeat(255),
  `${'9'.repeat(120)}^${'9'.repeat(120)}`,
  `${'9'.repeat(250)}^4`,
  `0.${'9'.repeat(240)}^999`,
  `(${'9^999*'.repeat(40)}1)`,
  `1/${'7^999/'.repeat(40)}3`,
  '1e999999999999999999',
  '1e-999999999999999999',
  '1e1000^1000',
  '1e-1000^1000',
  '(1+1e-1000)^1e9',
  '2^1e300',
  '2^-1e300',
  '0.5^999999',
  '(-1)^1e999',
  'factorial(1e18)',
  'factorial(170)^170',
  `${'('.repeat(128)}1${')'.repeat(127)}`,
  `${'-'.repeat(255)}1`,
  `1${'^1'.repeat(127)}`,
  `2${'^2'.repeat(127)}`,
  `${'sqrt('.repeat(50)}1`,
  `1${'%'.repeat(255)}`,
  `1${'%1'.repeat(127)}`,
  `max(${'1,'.repeat(120)}1)`,
  `hypot(${'1,'.repeat(120)}1)`,
  `${' '.repeat(200)}1`,
  `cosh(${'9'.repeat(240)})`,
  'sinh(1e9999)',
  'tanh(-1e9999)',
  'sin(1e9999)',
  'exp(1e9999)',
  'atan(1e9999) + atan(1e-9999)',
  '1e9999 % 1e-9999',
  '7^999 % 1e-9999',
  '1e9999 + 1e-9999',
  '1e-9999^1e-9999',
  '(1 + 1e-9999)^1e9999',
  '1.1^9007199254740993',
  '1e9999 / 7^999',
  `acos(.3)${'^acos(.3)'.repeat(27)}`,
  `7^999${'-7^999'.repeat(41)}`,
  '1'.repeat(10_000_000),
  ' '.repeat(10_000_000),
  '(((((('.repeat(1_000_000),
  '\u202e1+1',
  '１＋１',
  '∞',
  'NaN',
  'Infinity',
];

test('every expression comes to an end, and no result is long or not finite', () => {
  for (const expression of hostile) {
    const { text } = evaluate(expression);
    assert.ok(text.length <= 1_100, `${expression.slice(0, 40)} gave ${text.length} characters`);
    assert.doesNotMatch(text, /Infinity\b(?! is no)|NaN(?! is no)/);
  }
});

test('any text at all ends in a value or a sentence', () => {
  const marks = ['1', '9e99', '.', '(', ')', ',', '%', '^', '-', '+', '*', '/', ' ', '0', '\n'];
  const names = ['e', 'pi', 'min(', 'sqrt(', 'mod(', 'round(', 'log(', 'factorial(', '1e-99', '×'];
  const words = fc.constantFrom(...marks, ...names);
  const some = fc.oneof(
    fc.array(words, { maxLength: 60 }).map((all) => all.join('')),
    fc.string(),
  );
  const all = fc.property(some, (expression) => {
    const { kind, text } = evaluate(expression);
    assert.ok(text !== '' && text.length <= 1_100);
    if (kind === 'value') assert.match(text, /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/);
  });
  fc.assert(all, { seed, numRuns: runs(3_000) });
});
