import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstFound, rowsOf, treeOf } from './tree.ts';

const document = { brains: [{ name: 'helper', models: [{ model_id: 'llama3.2' }] }] };

test('the first that a search finds is one that bears its words, not what holds it', () => {
  const found = (search: string) => {
    return firstFound(
      rowsOf(treeOf(document), () => true, search),
      search,
    )?.node.label;
  };
  assert.equal(found('lla'), 'llama3.2');
  assert.equal(found('HELP'), 'helper');
  assert.equal(found(' brains '), 'Brains');
  assert.equal(found('nothing'), undefined);
});
