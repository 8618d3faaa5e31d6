/** Calc against references, and against those who mean harm. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { evaluate } from './evaluate.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const settings = { seed, numRuns: 500 };
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

test('a quotient is the double that Number gives, to fifteen digits', () => {
  const whole = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const divisor = whole.filter((value) => value !== 0);
  const all = fc.property(whole, divisor, (a, b) => {
    const told = Number(valueOf(`(${a}) / (${b})`));
    assert.equal(told.toPrecision(15), (a / b + 0).toPrecision(15));
  });
  fc.assert(all, settings);
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
    const told = Number(valueOf(text));
    assert.ok(Math.abs(told - byHand(first, rest)) <= 1e-9 * Math.max(1, Math.abs(told)), text);
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
  '1'.repeat(10_000_000),
  ' '.repeat(10_000_000),
  '(((((('.repeat(1_000_000),
  '\u202e1+1',
  '１＋１',
  '∞',
  'NaN',
  'Infinity',
];

test('no expression takes long, and no result is long or not finite', () => {
  const startedAt = process.cpuUsage().user;
  for (const expression of hostile) {
    const { text } = evaluate(expression);
    assert.ok(text.length <= 1_100, `${expression.slice(0, 40)} gave ${text.length} characters`);
    assert.doesNotMatch(text, /Infinity\b(?! is no)|NaN(?! is no)/);
  }
  const spentMs = (process.cpuUsage().user - startedAt) / 1_000;
  assert.ok(spentMs < 2_000, `${hostile.length} hostile expressions took ${spentMs} ms`);
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
  fc.assert(all, { seed, numRuns: 5_000 });
});
