import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool } from '../../../../test/agents/tool-call.ts';
import { createCalc } from './calc.ts';

const values: Readonly<Record<string, string>> = {
  '1 + 2 * 3': '7',
  '(1 + 2) * 3': '9',
  '8 - 3 - 2': '3',
  '64 / 4 / 2': '8',
  '2^3^2': '512',
  '-2^2': '-4',
  '(-2)^2': '4',
  '2^-2': '0.25',
  '2 ** 10': '1024',
  '3 × 4 ÷ 2 − 1': '5',
  '-5': '-5',
  '- -5': '5',
  '2 - -5': '7',
  '-0': '0',
  '0.1 + 0.2': '0.3',
  '0.1 * 3 - 0.3': '0',
  '1.10 * 1.10': '1.21',
  '.5 + 5.': '5.5',
  '1.5e3': '1500',
  '1E-7 * 1': '0.0000001',
  '1e-300 * 1': '1e-300',
  '-1.25e-50': '-1.25e-50',
  '2^64': '18446744073709551616',
  '9007199254740993 + 0': '9007199254740993',
  '99999999999999999 * 99999999999999999': '9999999999999999800000000000000001',
  '(-1)^99999999999999999999999999': '-1',
  '1^1e300': '1',
  '0^0': '1',
  '10 / 4': '2.5',
  '2^100 / 2^98': '4',
  '1/3': '0.333333333333333',
  '1/3*3': '1',
  '2/3': '0.666666666666667',
  '10^200 / 3 / 10^199': '3.33333333333333',
  '50%': '0.5',
  '-50%': '-0.5',
  '200 * 15%': '30',
  '200 + 10%': '200.1',
  '(50)%': '0.5',
  '50% - 3': '-2.5',
  '7 % 3': '1',
  '-7 % 3': '-1',
  '7 % (-3)': '1',
  '7.5 % 2': '1.5',
  'mod(-7, 3)': '2',
  'mod(7, -3)': '-2',
  'mod(-6, 3)': '0',
  'sqrt(16)': '4',
  'sqrt(2)^2': '2',
  'sqrt(2.25)': '1.5',
  'sqrt(0)': '0',
  'sqrt(1e-400)': '1e-200',
  'sqrt(1e400) / 1e199': '10',
  'sqrt(3e-400)': '1.73205080756888e-200',
  'sqrt(2e401)': '4.47213595499958e+200',
  '10^-999': '1e-999',
  '10^-999 * 10^999': '1',
  '0 * 1e-400': '0',
  '1e-400 - 1e-400': '0',
  'round(1e-400)': '0',
  'cos(1e-400)': '1',
  'exp(1e-400)': '1',
  'atan2(0, 1)': '0',
  'sin(0) * 1e400 + 1e-400': '1e-400',
  '0.000e-99999': '0',
  'ln(1)': '0',
  'ln(e)': '1',
  'log10(1000)': '3',
  'log(8, 2)': '3',
  'log(1000, 10)': '3',
  'cos(pi)': '-1',
  'sin(radians(30))': '0.5',
  'degrees(π)': '180',
  'hypot(3, 4)': '5',
  'round(2.675, 2)': '2.68',
  'round(-2.5)': '-3',
  'round(0.5)': '1',
  'floor(-2.5)': '-3',
  'ceil(-2.5)': '-2',
  'ceil(2.0)': '2',
  'trunc(-2.9)': '-2',
  'abs(-9007199254740993)': '9007199254740993',
  'sign(-3)': '-1',
  'min(3, 1, 2) + max(3, 1, 2)': '4',
  'max(9007199254740993, 9007199254740992)': '9007199254740993',
  'factorial(25)': '15511210043330985984000000',
  'PI - pi': '0',
  '2^0.5 * 1e20': '1.4142135623731e+20',
  '2^-1100': '7.36215182902286e-332',
  '(2/3)^2000': '6.56873722330915e-353',
  '1e500 / 3': '3.33333333333333e+499',
  '1/3 * 1e-400': '3.33333333333333e-401',
  'sqrt(2) / 1e400': '1.4142135623731e-400',
  'exp(-1000)': '5.07595889754946e-435',
  'sin(1e-400)': '1e-400',
  'ln(1e-400)': '-921.034037197618',
  'log(1e-400, 10)': '-400',
  '(1e-400)^-0.5': '1e+200',
  '1.5^3000 / 1.5^2999': '1.5',
  '1e5000': '1e+5000',
  '10^9999 * 10^-9999': '1',
  '7^200 / 7^198': '49',
  '12345678901234567890 / 7': '1.76366841446208e+18',
  '(10^200 + 1) / 1': `1${'0'.repeat(199)}1`,
  '1e600 + 1e-600': '1e+600',
  '7^1100 * 7^900': '1.57065220561816e+1690',
  'sqrt(7^200)': `${7n ** 100n}`,
  '1/3*3 - 1': '0',
  '1/3 - 1/3 + 1e-400': '1e-400',
  '(1/3 + 1e-15) - 1/3': '1e-15',
  'sin(pi)': '0',
  'cos(pi/2)': '0',
  'sign(1/3*3 - 1)': '0',
  'floor(sqrt(2)^2)': '2',
  'floor(ln(e^5))': '5',
  'ceil(1/3*3)': '1',
  '(1/3*21) % 7': '0',
  '(1/3) % 0.25': '0.0833333333333333',
  'ln(1 + 1e-30)': '1e-30',
  'ln(1/3*3)': '0',
  'acos(1/3*3)': '0',
  'asin(1)*2 - pi': '0',
  'acos(-1)': '3.14159265358979',
  'atan2(-0, -1)': '3.14159265358979',
  'atan2(0*-5, -1)': '3.14159265358979',
  'atan2(-1e-9000, -1)': '-3.14159265358979',
  'atan2(0, 0)': '0',
  'atan(1e9000)': '1.5707963267949',
  'atan(1e-9000)': '1e-9000',
  'cosh(1)^2 - sinh(1)^2': '1',
  'tanh(1e20) + tanh(-1e20)': '0',
  'sinh(1e-50)': '1e-50',
  '4000^2 + 1': '16000001',
};

test('expressions are worked out', async () => {
  for (const [expression, text] of Object.entries(values)) {
    const called = await callTool(createCalc(), { expression });
    assert.deepEqual({ expression, ...called }, { expression, kind: 'done', text, cut: false });
  }
});

const faults: Readonly<Record<string, RegExp>> = {
  '': /it is empty/,
  ' \n': /it is empty/,
  '1 +': /a number is missing before the end/,
  '* 2': /a number is missing before "\*"/,
  '1 2': /an operator is missing before "2"/,
  '2pi': /an operator is missing before "pi"/,
  '2(3)': /an operator is missing before "\("/,
  '1,000 + 1': /separators/,
  '(1 + 2': /a \) is missing before the end/,
  '1 + 2)': /an operator is missing before "\)"/,
  '()': /a number is missing before "\)"/,
  'min()': /a number is missing/,
  '1 / 0': /divides by zero/,
  '1 / (0.5 - 0.5)': /divides by zero/,
  '1 % (1 - 1)': /divides by zero/,
  'mod(1, 0)': /divides by zero/,
  '0^-1': /too large or has no end/,
  '0.5^1e400': /too small/,
  '1e-20000': /too small: the limit is 1e-10000/,
  '1e-9999 / 10': /too small/,
  '1e-5000 * 1e-5000': /too small/,
  'exp(-1e300)': /too small/,
  '0.5^999999': /too small/,
  '1e9999 * 10': /too large or has no end: the limit is 1e10000/,
  '2^1e15': /too large/,
  'exp(1e18)': /too large/,
  'cosh(1e20)': /too large/,
  'sinh(-1e20)': /too large/,
  'tan(pi/2)': /too large or has no end/,
  'sin(1e400)': /too large/,
  'mod(1e400, pi)': /too large/,
  '1e30 % (1/3)': /too large/,
  '1e9000 % 7': /too large/,
  '(1 + 1e-30/3)^1e25': /too large/,
  'log(8, 1)': /too large or has no end/,
  'acos(1.5)': /no real result/,
  'sqrt(-1e400)': /no real result/,
  'sqrt(-1)': /no real result/,
  'ln(0)': /too large or has no end/,
  '(-8)^(1/3)': /no real result/,
  'log(10)': /ln\(x\) or log10\(x\)/,
  sin: /write sin\(…\)/,
  'sin(1, 2)': /takes 1 arguments, and has 2/,
  'atan2(1)': /takes 2 arguments, and has 1/,
  'round(1, 101)': /0 to 100/,
  'round(1, 0.5)': /0 to 100/,
  'factorial(171)': /0 to 170/,
  'factorial(-1)': /0 to 170/,
  'factorial(2.5)': /0 to 170/,
  'x + 1': /x is no function or constant/,
  '1:10000000': /":" cannot stand/,
  '1 = 1': /"=" cannot stand/,
  '0x10': /an operator is missing before "x10"/,
  '1_000': /"_" cannot stand/,
  '"a"': /cannot stand/,
  '2; 3': /";" cannot stand/,
  '1\0': /cannot stand/,
};

test('what cannot be worked out is said in a sentence', async () => {
  for (const [expression, text] of Object.entries(faults)) {
    const called = await callTool(createCalc(), { expression });
    assert.equal(called.kind, 'failed', expression);
    assert.match(called.text, text, expression);
  }
});

test('an expression may be 64 deep and 256 characters long, and no more', async () => {
  const nested = (depth: number): string => `${'('.repeat(depth)}7${')'.repeat(depth)}`;
  const text = async (expression: string): Promise<string> =>
    (await callTool(createCalc(), { expression })).text;
  assert.equal(await text(nested(63)), '7');
  assert.match(await text(nested(64)), /nested deeper than 64/);
  assert.match(await text(`${'-'.repeat(64)}7`), /nested deeper than 64/);
  assert.match(await text(`7${'^1'.repeat(64)}`), /nested deeper than 64/);
  assert.equal(await text(`1${'+1'.repeat(127)}`), '128');
  assert.match(await text('1'.repeat(257)), /longer than 256 characters/);
});

test('names of the language mean nothing', async () => {
  const names = ['constructor', 'toString', 'process', 'globalThis', 'hasOwnProperty', 'this'];
  for (const name of names) {
    for (const expression of [name, `${name}(1)`, `${name}()`]) {
      const called = await callTool(createCalc(), { expression });
      assert.match(called.text, /no function or constant/);
    }
  }
  for (const expression of ['a.b', 'a[0]', '`x`', '{}', '__proto__', 'x=>1', "import('fs')"]) {
    assert.equal((await callTool(createCalc(), { expression })).kind, 'failed');
  }
});

test('an argument that is a number is taken, anything else is not', async () => {
  assert.equal((await callTool(createCalc(), { expression: 5 })).text, '5');
  for (const expression of [null, undefined, true, ['1'], { a: 1 }]) {
    assert.equal((await callTool(createCalc(), { expression })).kind, 'invalid');
  }
});
