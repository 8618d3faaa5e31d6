/** What two people changed at one time: together where it differs, asked where it meets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templates, textOf } from '../../../src/config/templates/templates.ts';
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
