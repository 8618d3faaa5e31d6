/** The draft and its history. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Json } from '../../../src/config/locate.ts';
import { keysAt } from './fields.ts';
import { isSamePath, pathOf, textOf, type Path } from '../../../src/config/edit/path.ts';
import { isDirty, problemsNow, redo, reportFacts, undo, useDraft } from './store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList } from './value.ts';

const root = join(import.meta.dirname, '../../..');
const files = globSync('examples/*.json', { cwd: root });
const open = (text: string, draft?: string): void =>
  useDraft.getState().open({ revision: 'r1', text, file: 'svc.json', usedAt: 0 }, draft);
const state = () => useDraft.getState();

/** Numbers from a seed (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let at = seed;
  return (below) => {
    at = (at + 0x6d2b79f5) | 0;
    let t = Math.imul(at ^ (at >>> 15), 1 | at);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

function placesOf(value: Json, path: Path = []): (readonly [Path, Json])[] {
  const inner = isList(value)
    ? value.flatMap((one, at) => placesOf(one, [...path, at]))
    : isObject(value)
      ? Object.entries(value).flatMap(([key, one]) => placesOf(one, [...path, key]))
      : [];
  return [[path, value], ...inner];
}

/** Makes a random edit that a person could make. */
function editSomething(random: (below: number) => number): void {
  const { document, edit, remove, insert, move, replace, text } = state();
  const places = placesOf(document);
  const [path, value] = places[random(places.length)];
  switch (random(6)) {
    case 0:
      return void edit(path, `text ${random(1_000)}`);
    case 1:
      return void (path.length > 0 && remove(path));
    case 2:
      return void (isList(value) && insert(path, random(value.length + 1), { a: random(9) }));
    case 3:
      return void (isList(value) && move(path, random(3), random(3)));
    case 4:
      return void (isObject(value) && edit([...path, keysAt(path)[0] ?? 'k'], [random(9)]));
    default:
      return replace(text.replace(/"/, random(2) === 0 ? '"' : `"${random(9)}`));
  }
}

test('over a hundred edits undone give the start back, and redone the end', () => {
  for (const [index, file] of files.entries()) {
    const seed = Date.now() + index;
    const random = randomFrom(seed);
    const start = readFileSync(join(root, file), 'utf8');
    open(start);
    const seen = [start];
    while (seen.length <= 120) {
      const before = state().text;
      editSomething(random);
      if (state().text !== before) seen.push(state().text);
    }
    for (const text of seen.slice(0, -1).reverse()) {
      undo();
      assert.equal(state().text, text, `${file}, seed ${seed}`);
    }
    assert.equal(isDirty(state()), false);
    for (const text of seen.slice(1)) {
      redo();
      assert.equal(state().text, text, `${file}, seed ${seed}`);
    }
  }
});

test('the keystrokes of one field are one step, and what is selected is none', (t) => {
  // Keystrokes far apart in time are separate steps; here the time stands still.
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  open('{ "a": "", "b": "" }');
  for (const written of ['s', 'sv', 'svc']) state().edit(['a'], written, 'a');
  state().select(['a']);
  state().edit(['b'], 'x', 'b');
  assert.equal(state().text, '{ "a": "svc", "b": "x" }');
  undo();
  assert.equal(state().text, '{ "a": "svc", "b": "" }');
  undo();
  assert.equal(state().text, '{ "a": "", "b": "" }');
  redo();
  assert.equal(state().text, '{ "a": "svc", "b": "" }');
  state().edit(['a'], 'svc!', 'a');
  undo();
  assert.equal(state().text, '{ "a": "svc", "b": "" }', 'a step that was redone is not gone on');
});

test('a draft is dirty when it says something else, not when it looks different', () => {
  open('{ "a": 1, "b": { "c": [1, 2] } }');
  assert.equal(isDirty(state()), false);
  state().replace('{"b":{"c":[1,2]},"a":1}');
  assert.equal(isDirty(state()), false);
  state().replace('{"b":{"c":[2,1]},"a":1}');
  assert.equal(isDirty(state()), true);
  state().replace('{');
  assert.equal(isDirty(state()), true);
});

test('while the text is no JSON the last document stays, and nothing edits it', () => {
  open('{ "a": 1 }', '{ "a": 2 }');
  state().replace('{ "a": ');
  assert.deepEqual({ ...state().document }, { a: 2 });
  assert.equal(state().readable, false);
  assert.equal(state().edit(['a'], 3), false);
  assert.equal(problemsNow()[0]?.code, 'syntax');
  undo();
  assert.equal(state().readable, true);
  assert.equal(state().edit(['a'], 3), true);
});

test('a path in words is read again as what it was', () => {
  const paths: Path[] = [[], ['a'], ['brains', 0, 'policy', 'order', 12], ['a b', 'c."d"[0]', 3]];
  for (const path of paths) assert.ok(isSamePath(pathOf(textOf(path)), path), textOf(path));
  assert.equal(textOf(['brains', 0, 'policy', 'kind']), 'brains[0].policy.kind');
});

test('what the service alone knows is told once, until something else stands there', () => {
  const agent = { tools: ['read_file'], read_file: { root: './no-folder' } };
  const text = readFileSync(join(root, 'examples/echo.json'), 'utf8');
  const document = JSON.parse(text) as { brains: object[] };
  Object.assign(document.brains[0], { agent });
  open(JSON.stringify(document, null, 2));
  const own = problemsNow();
  const place = 'brains[0].agent.read_file.root';
  const fact = {
    severity: 'warning',
    code: 'read_root_missing',
    path: place,
    line: 1,
    column: 1,
    message: 'there is no folder ./no-folder',
    remedy: 'Make it.',
  } as const;
  const seen = () => state().problems.filter(({ code }) => code === fact.code);
  reportFacts(state().document, [...own, fact]);
  assert.equal(state().problems.length, own.length + 1);
  const line =
    state()
      .text.split('\n')
      .findIndex((one) => one.includes('no-folder')) + 1;
  assert.deepEqual(
    seen().map((one) => [one.path, one.line]),
    [[place, line]],
  );
  state().replace(`\n\n${state().text}`);
  problemsNow();
  assert.deepEqual(
    seen().map((one) => one.line),
    [line + 2],
  );
  state().edit(pathOf(place), './other');
  problemsNow();
  assert.deepEqual(seen(), []);
});
