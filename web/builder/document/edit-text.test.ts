/** Edits change their own place; the rest of a person's text stays byte for byte. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Json } from '../../../src/config/locate.ts';
import {
  insertEntry,
  moveEntry,
  removeAt,
  renameKey,
  setValue,
} from '../../../src/config/edit/edit-text.ts';
import { fieldAt, keysAt } from './fields.ts';
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isEqual, isList, valueAt } from './value.ts';

const root = join(import.meta.dirname, '../../..');
const examples = globSync('examples/*.json', { cwd: root }).map((file) => {
  return [file, readFileSync(join(root, file), 'utf8')] as const;
});
/** The examples in other styles: one line, tabs, Windows line ends, a byte order mark. */
const texts = examples.flatMap(([file, text]) => {
  const value: unknown = JSON.parse(text);
  return [
    [file, text],
    [`${file} in one line`, JSON.stringify(value)],
    [`${file} with tabs`, `${JSON.stringify(value, null, '\t')}\n`],
    [`${file} of Windows`, `\uFEFF${text.replaceAll('\n', '\r\n')}`],
  ] as const;
});

/** Every path within a value, outermost first. */
function* placesOf(value: Json, path: Path = []): Generator<readonly [Path, Json]> {
  yield [path, value];
  if (isList(value)) for (const [at, one] of value.entries()) yield* placesOf(one, [...path, at]);
  else if (isObject(value)) {
    for (const [key, one] of Object.entries(value)) yield* placesOf(one, [...path, key]);
  }
}

const parse = (text: string): Json => JSON.parse(text.replace(/^\uFEFF/, '')) as Json;

/** The text that an edit removed and the text that it inserted: one stretch each. */
function stretch(before: string, after: string): { readonly out: string; readonly in: string } {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++;
  return {
    out: before.slice(start, before.length - end),
    in: after.slice(start, after.length - end),
  };
}

/** Lines of `a` that `b` does not have as often. */
function linesOnlyIn(a: string, b: string): readonly string[] {
  const rest = b.split('\n');
  return a.split('\n').filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

test('a value set anew changes nothing but itself', () => {
  for (const [name, text] of texts) {
    for (const [path, value] of placesOf(parse(text))) {
      if (isList(value) || isObject(value)) continue;
      const after = setValue(text, path, 'Ein "Wert"', keysAt)!;
      const where = `${name} ${textOf(path)}`;
      assert.equal(valueAt(parse(after), path), 'Ein "Wert"', where);
      assert.ok(JSON.stringify(value).includes(stretch(text, after).out), where);
      assert.equal(setValue(after, path, value, keysAt), text, where);
    }
  }
});

test('the value that is there already changes nothing, however it is written', () => {
  for (const [name, text] of texts) {
    for (const [path, value] of placesOf(parse(text))) {
      assert.equal(setValue(text, path, value, keysAt), text, `${name} ${textOf(path)}`);
    }
  }
  assert.equal(setValue('{ "a": 1e3 }', ['a'], 1000, keysAt), '{ "a": 1e3 }');
});

test('a field added and removed again leaves the text as it was', () => {
  for (const [name, text] of texts) {
    for (const [path, value] of placesOf(parse(text))) {
      const field = fieldAt(path);
      if (field?.type !== 'object' || !isObject(value)) continue;
      const isEmpty = Object.keys(value).length === 0;
      for (const key of keysAt(path).filter((one) => !Object.hasOwn(value, one))) {
        const at = [...path, key];
        const where = `${name} ${textOf(at)}`;
        const added = setValue(text, at, { deep: ['x', { y: null }] }, keysAt)!;
        assert.ok(isEqual(valueAt(parse(added), at), { deep: ['x', { y: null }] }), where);
        if (!isEmpty) assert.equal(stretch(text, added).out, '', where);
        assert.equal(removeAt(added, at), text, where);
        assert.equal(added.includes('\r\n'), text.includes('\r\n'), where);
        assert.equal(/[^\r]\n/.test(added), /[^\r]\n/.test(text), where);
      }
    }
  }
});

test('a field that is removed takes its comma along, and no other line', () => {
  for (const [name, text] of texts) {
    for (const [path, value] of placesOf(parse(text))) {
      if (path.length === 0) continue;
      const after = removeAt(text, path)!;
      const where = `${name} ${textOf(path)}`;
      assert.equal(stretch(text, after).in, '', where);
      const parent = path.slice(0, -1);
      const [was, is] = [valueAt(parse(text), parent), valueAt(parse(after), parent)];
      assert.equal(Object.keys(is as object).length, Object.keys(was as object).length - 1, where);
      assert.ok(text.length - after.length >= JSON.stringify(value).length - 2, where);
    }
  }
});

test('an entry of a list goes in, moves and comes out, and the others stay as written', () => {
  const entry = { type: 'webhook', webhook: { path: '/x' } };
  for (const [name, text] of texts) {
    for (const [path, list] of placesOf(parse(text))) {
      if (!isList(list)) continue;
      for (let at = 0; at <= list.length; at++) {
        const where = `${name} ${textOf([...path, at])}`;
        const added = insertEntry(text, path, at, entry, keysAt)!;
        assert.ok(isEqual(valueAt(parse(added), path), list.toSpliced(at, 0, entry)), where);
        assert.equal(stretch(text, added).out, '', where);
        assert.equal(removeAt(added, [...path, at]), text, where);
        const moved = moveEntry(added, path, at, list.length);
        if (at === list.length) assert.equal(moved, null, where);
        else {
          const back = moveEntry(moved!, path, list.length, at);
          assert.equal(back, added, where);
          const lines = text.includes('\n') ? linesOnlyIn(moved!, added) : [];
          assert.ok(lines.length <= 3, `${where}: only commas may come and go: ${lines.join()}`);
        }
      }
    }
  }
});

test('a key is renamed where it stands', () => {
  const text = '{\n  "chanels" : [1],\n  "_a": 2\n}\n';
  const after = renameKey(text, ['chanels'], 'channels');
  assert.equal(after, '{\n  "channels" : [1],\n  "_a": 2\n}\n');
});

test('a new field stands where the reference has it, after the notes of a person', () => {
  const text = '{\n  "_about": "x",\n  "brains": [],\n  "storage": {}\n}';
  const after = setValue(text, ['channels'], [], keysAt)!;
  assert.deepEqual(Object.keys(JSON.parse(after) as object), [
    '_about',
    'channels',
    'brains',
    'storage',
  ]);
  const last = setValue(text, ['admin', 'token_env'], 'ADMIN', keysAt)!;
  assert.match(last, /"storage": \{\},\n {2}"admin": \{ "token_env": "ADMIN" \}\n\}$/);
});

test('null is absent: a value takes its place', () => {
  const text = '{\n  "storage": null,\n  "session": { "triggers": null }\n}';
  const set = setValue(text, ['storage', 'path'], 'x', keysAt)!;
  assert.equal(set, text.replace('"storage": null', '"storage": { "path": "x" }'));
  const inserted = insertEntry(text, ['session', 'triggers'], 0, '/new', keysAt);
  assert.equal(inserted, text.replace('"triggers": null', '"triggers": ["/new"]'));
});

test('what is no JSON, or leads nowhere, is not edited', () => {
  assert.equal(setValue('{ "a": 1, }', ['a'], 2, keysAt), null);
  assert.equal(setValue('{ "a": 1 } // note', ['a'], 2, keysAt), null);
  assert.equal(setValue('{ "a": [] }', ['a', 0], 2, keysAt), null);
  assert.equal(setValue('{ "a": 1 }', ['a', 'b'], 2, keysAt), null);
  assert.equal(removeAt('{ "a": 1 }', ['b']), null);
  assert.equal(removeAt('{ "a": 1 }', []), null);
  assert.equal(insertEntry('{ "a": {} }', ['a'], 0, 1, keysAt), null);
  assert.equal(moveEntry('{ "a": [1] }', ['a'], 0, 1), null);
  assert.equal(renameKey('[1]', [0], 'a'), null);
});
