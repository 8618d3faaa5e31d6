/** Changes of two people: different fields are merged; for the same field, a person is asked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templates, textOf } from '../../../src/config/templates/templates.ts';
import { locate } from '../../../src/config/locate.ts';
import { rewrite } from './rewrite.ts';
import { mergeThree, type Side } from './merge.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- tests write into it anywhere
type Loose = any;

function merged(
  mine: (document: Loose) => void,
  theirs: (document: Loose) => void,
  picks: Readonly<Record<string, Side>> = {},
) {
  const text = textOf(templates.find(({ name }) => name === 'consensus')!.document);
  const [base, ours, others] = [JSON.parse(text), JSON.parse(text), JSON.parse(text)];
  mine(ours);
  theirs(others);
  const { document, conflicts } = mergeThree(base, ours, others, new Map(Object.entries(picks)));
  return { document: document as Loose, asked: conflicts.map(({ path }) => path) };
}

test('changes of different fields of one brain go together', () => {
  const { document, asked } = merged(
    (it) => void (it.brains[0].dispatch = 'sequential'),
    (it) => void (it.brains[0].policy.kind = 'priority'),
  );
  assert.deepEqual(asked, []);
  assert.equal(document.brains[0].dispatch, 'sequential');
  assert.equal(document.brains[0].policy.kind, 'priority');
});

test('entries are met by what they are, wherever they stand', () => {
  const model = { provider: 'local_runtime', model_id: 'new', locality: 'local' };
  const { document, asked } = merged(
    (it) => it.brains[0].models.unshift(model),
    (it) => it.brains[0].models.splice(0, 1),
  );
  assert.deepEqual(asked, []);
  const ids = document.brains[0].models.map(({ model_id: id }: Loose) => id);
  assert.deepEqual(ids.toSorted(), ['gemma3', 'new', 'qwen3']);
});

test('an order that one side alone changed is kept', () => {
  const reverse = (it: Loose): void => it.brains[0].models.reverse();
  const touch = (it: Loose): void => void (it.brains[0].models[1].max_retries = 5);
  for (const [mine, theirs] of [
    [reverse, touch],
    [touch, reverse],
  ] as const) {
    const { document } = merged(mine, theirs);
    const models = document.brains[0].models.map(({ model_id: id, max_retries: tries }: Loose) => [
      id,
      tries,
    ]);
    assert.deepEqual(models, [
      ['gemma3', undefined],
      ['qwen3', 5],
      ['llama3.2', undefined],
    ]);
  }
});

test('one field that both changed is asked, and theirs stands until it is picked', () => {
  const mine = (it: Loose): void => void (it.brains[0].policy.kind = 'priority');
  const theirs = (it: Loose): void => void (it.brains[0].policy.kind = 'other');
  const path = 'brains → triage → policy → kind';
  const open = merged(mine, theirs);
  assert.deepEqual(open.asked, [path]);
  assert.equal(open.document.brains[0].policy.kind, 'other');
  assert.equal(merged(mine, theirs, { [path]: 'mine' }).document.brains[0].policy.kind, 'priority');
});

test('what one removed and the other changed is asked', () => {
  const remove = (it: Loose): void => void (it.brains = []);
  const touch = (it: Loose): void => void (it.brains[0].dispatch = 'sequential');
  const { document, asked } = merged(remove, touch);
  assert.deepEqual(asked, ['brains → triage']);
  assert.equal(document.brains.length, 1);
  assert.deepEqual(merged(remove, touch, { 'brains → triage': 'mine' }).document.brains, []);
});

test('the same change of both is no conflict, and a list of words is one value', () => {
  const both = (it: Loose): void => void (it.brains[0].policy.order = ['qwen3']);
  assert.deepEqual(merged(both, both).asked, []);
  const other = (it: Loose): void => void (it.brains[0].policy.order = ['gemma3']);
  assert.deepEqual(merged(both, other).asked, ['brains → triage → policy → order']);
});

test('who takes an entry back puts it where it stood', () => {
  const base = JSON.parse(
    '{ "models": [{ "model_id": "1" }, { "model_id": "2" }, { "model_id": "3" }] }',
  );
  const idsOf = (document: Loose) => document.models.map(({ model_id: id }: Loose) => id);
  for (const [place, path] of [
    [0, 'models → ?/1'],
    [1, 'models → ?/2'],
  ] as const) {
    const [mine, theirs] = [structuredClone(base), structuredClone(base)];
    mine.models.splice(place, 1);
    theirs.models[place].base_url = 'http://other.test';
    const { document, conflicts } = mergeThree(base, mine, theirs);
    assert.deepEqual(
      conflicts.map((conflict) => conflict.path),
      [path],
    );
    assert.deepEqual(idsOf(document), ['1', '2', '3']);
  }
});

test('what both put in one place stands there, mine first where theirs is the order', () => {
  const add = (id: string) => (it: Loose) =>
    void it.brains[0].models.splice(1, 0, { provider: 'local_runtime', model_id: id });
  const { document } = merged(add('mine'), add('theirs'));
  const ids = document.brains[0].models.map(({ model_id: id }: Loose) => id);
  assert.deepEqual(ids, ['llama3.2', 'mine', 'theirs', 'qwen3', 'gemma3']);
});

test('a brain that one side renamed is the same brain, with what the other changed of it', () => {
  const rename = (it: Loose): void => {
    it.brains[0].name = 'helper';
    for (const route of it.routes) route.brain = 'helper';
  };
  const touch = (it: Loose): void => void (it.brains[0].policy.kind = 'priority');
  for (const [mine, theirs] of [
    [rename, touch],
    [touch, rename],
  ] as const) {
    const { document, asked } = merged(mine, theirs);
    assert.deepEqual(asked, []);
    const [brain] = document.brains;
    assert.deepEqual(
      [document.brains.length, brain.name, brain.policy.kind],
      [1, 'helper', 'priority'],
    );
  }
  const other = (it: Loose): void => void (it.brains[0].name = 'third');
  assert.deepEqual(merged(rename, other).asked, ['brains → triage → name']);
});

test('a brain in the place of another one is no rename', () => {
  const replace = (it: Loose): void =>
    void (it.brains[0] = {
      name: 'other',
      sensitivity: 'public',
      policy: { kind: 'priority' },
      models: [],
    });
  const touch = (it: Loose): void => void (it.brains[0].deadline_seconds = 9);
  assert.deepEqual(merged(replace, touch).asked, ['brains → triage']);
});

test('a note of any name stays', () => {
  const read = (text: string) => locate(text).value;
  const text = '{ "__proto__": { "x": 1 }, "_note": "a", "brains": [] }';
  const { document } = mergeThree(
    read(text),
    read(text.replace('"a"', '"b"')),
    read(text.replace('[]', '[{}]')),
  );
  assert.deepEqual(Object.keys(document as object).toSorted(), ['__proto__', '_note', 'brains']);
  const written = rewrite(text, document as Loose);
  assert.deepEqual(
    JSON.parse(written),
    JSON.parse(text.replace('"a"', '"b"').replace('[]', '[{}]')),
  );
});
