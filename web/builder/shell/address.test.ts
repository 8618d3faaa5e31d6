import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, placeNamed, isAddressOf } from './address.ts';

test('an address names places of the schema, and nothing that a person wrote', () => {
  assert.equal(addressOf(['brains', 0, 'models', 1]), 'brains[0].models[1]');
  assert.equal(addressOf(['brains', 0, 'a private word']), '');
  assert.equal(addressOf([]), '');
  assert.deepEqual(placeNamed('brains[0].name'), ['brains', 0, 'name']);
  assert.deepEqual(placeNamed('["\\x"]'), []);
  assert.deepEqual(placeNamed('nothing[3].like[4].it'), []);
});

test('the address of a field tells the form that it stands in', () => {
  const document = { brains: [{ name: 'helper', models: [{ model_id: 'm' }] }] };
  assert.ok(isAddressOf('brains[0].name', ['brains', 0], document));
  assert.ok(!isAddressOf('brains[0].models[0]', ['brains', 0], document));
  assert.ok(!isAddressOf('', ['brains'], document));
  assert.ok(isAddressOf('', [], document));
});
