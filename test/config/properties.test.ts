import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseListenAddress, parseWebAddress } from '../../src/config/address.ts';
import { locate } from '../../src/config/locate.ts';
import { validateText } from '../../src/config/validate.ts';
import { anyText } from '../support/any-text.ts';
import { runs } from '../support/runs.ts';
import { agent, plain } from './cases.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const settings = { seed, numRuns: runs(200) };
console.log(`seed ${seed}`);

type Value = null | boolean | number | string | Value[] | { [key: string]: Value };

const plainly = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Keys and values that have a meaning here, among meaningless ones. */
const words = fc.constantFrom(
  ...'channels brains routes storage session type webhook token_env models agent tools'.split(' '),
  ...'policy kind priority order name local_runtime memory_note access allow __proto__'.split(' '),
);
const anyDocument = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    words,
    fc.jsonValue() as fc.Arbitrary<Value>,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(words, tie('value'), { maxKeys: 6 }),
  ),
})).value;

test('no JSON value and no text makes the check throw', () => {
  fc.assert(
    fc.property(anyDocument, (value) => {
      const { kind, problems } = validateText(JSON.stringify(value));
      assert.equal(kind, 'invalid');
      assert.ok(problems.every(({ line, column }) => line >= 1 && column >= 1));
    }),
    settings,
  );
  fc.assert(
    fc.property(anyText(), (text) => validateText(text).kind === 'invalid'),
    settings,
  );
});

test('one character changed never throws, and every fault has a place inside the text', () => {
  const text = agent;
  const damage = ['{', '}', '[', ']', ',', ':', '"', '\\', '0', 'a', ' ', '\n'];
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom(...damage), (at, char) => {
      const changed = text.slice(0, at) + char + text.slice(at + 1);
      const lines = changed.split('\n');
      for (const { line, column } of validateText(changed).problems) {
        assert.ok(column <= lines[line - 1]!.length + 1);
      }
    }),
    settings,
  );
});

test('the parser reads what JSON.parse reads, and refuses what it refuses', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), (text) => {
      const { value, faults } = locate(text);
      if (faults.length === 0) assert.deepEqual(plainly(value), plainly(JSON.parse(text)));
    }),
    settings,
  );
  const pieces = fc.constantFrom(...'{ } [ ] , : "a" "\\n" 1 -0 1.5e3 01 true nul \t'.split(' '));
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const text = parts.join('');
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      assert.equal(locate(text).value !== undefined, isJson, text);
    }),
    { ...settings, numRuns: runs(1_000) },
  );
});

test('a valid file stays the same with notes anywhere', () => {
  const noted = (value: Value, at: { left: number }): Value => {
    if (Array.isArray(value)) return value.map((item) => noted(item, at));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, noted(inner, at)] as const);
    const note =
      at.left-- === 0 ? [['_note', { any: [1] }] as const, ['$schema', ''] as const] : [];
    return Object.fromEntries([...note, ...entries]);
  };
  fc.assert(
    fc.property(fc.constantFrom(plain, agent), fc.nat(12), (text, left) => {
      const before = validateText(text);
      const after = validateText(JSON.stringify(noted(JSON.parse(text) as Value, { left })));
      assert.ok(before.kind === 'valid' && after.kind === 'valid');
      assert.deepEqual(after.config, before.config);
    }),
    settings,
  );
});

test('every address that is accepted can be called and listened on', () => {
  const part = fc.constantFrom(
    ...'http:// https:// a.test 127.0.0.1 1.2.3 256.1.1.1 0x7f.1 [::1] [::] [1::2::3] ~'.split(' '),
    ...':80 :99999 : / /a //b ?x=1 #f u:p@ @ xn--mnchen-3ya.test münchen.test a_b - .'.split(' '),
    ...'[::ffff:1.2.3.4] [1:2:3:4:5:6:7:8] [1:2:3:4:5:6:7::8] [:::] [12345::] %41 \\'.split(' '),
    ...'..a a..b a.'.split(' '),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 2, maxLength: 5 }), (parts) => {
      const text = parts.join('');
      if (parseWebAddress(text) !== null) assert.ok(URL.canParse(text), text);
      const listen = parseListenAddress(text, true);
      if (listen === null || listen.host === '') return;
      const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
      assert.ok(URL.canParse(`http://${host}`), text);
    }),
    { ...settings, numRuns: runs(2_000) },
  );
  for (const url of ['http://localhost', 'HTTPS://a.test:8443/v1/', 'http://[::1]:11434']) {
    assert.ok(parseWebAddress(url), url);
  }
});

test('a byte order mark and Windows line ends are let pass', () => {
  const { kind } = validateText(`\uFEFF${plain.replaceAll('\n', '\r\n')}`);
  assert.equal(kind, 'valid');
  const [problem] = validateText('\uFEFF{"a": tru}').problems;
  assert.equal(problem?.column, 7);
});
