import assert from 'node:assert/strict';
import test from 'node:test';
import type { ModelName } from '../../domain/ids.ts';
import type { Charged, Used } from '../../domain/spend.ts';
import { FreeSpend, type SpendChange } from './spending.ts';

const charged: Charged = {
  day: '2027-03-04',
  brain: 'main',
  model: 'local' as ModelName,
  price: null,
  costs: false,
  sender: null,
};
const used = (input: number, output: number, estimated = false): Used => {
  return { input, output, estimated };
};
const sum = (calls: number, estimatedCalls: number, input: number, output: number): SpendChange => {
  return { calls, estimatedCalls, input, output, openInput: 0, openOutput: 0 };
};

function openFreeSpend() {
  const written: [string, SpendChange][] = [];
  const free = new FreeSpend(({ model, day }, change) => {
    written.push([`${day} ${model}`, change]);
  });
  return { free, written };
}

test('a second of what one free model used is one change', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { free, written } = openFreeSpend();
  free.add(charged, used(3, 1));
  t.mock.timers.tick(999);
  free.add(charged, used(4, 2, true));
  assert.deepEqual(written, []);
  t.mock.timers.tick(1);
  assert.deepEqual(written, [['2027-03-04 local', sum(2, 1, 7, 3)]]);
  t.mock.timers.tick(10_000);
  assert.equal(written.length, 1, 'once');
});

test('what differs in its day or its model stays apart', () => {
  const { free, written } = openFreeSpend();
  free.add(charged, used(1, 0));
  free.add({ ...charged, day: '2027-03-05' }, used(2, 0));
  free.add({ ...charged, model: 'other' as ModelName }, used(3, 0));
  free.flush();
  assert.deepEqual(written, [
    ['2027-03-04 local', sum(1, 0, 1, 0)],
    ['2027-03-05 local', sum(1, 0, 2, 0)],
    ['2027-03-04 other', sum(1, 0, 3, 0)],
  ]);
});

test('a flush hands on at once, and the second begins anew', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { free, written } = openFreeSpend();
  free.add(charged, used(1, 0));
  t.mock.timers.tick(600);
  free.flush();
  assert.equal(written.length, 1);
  free.add(charged, used(2, 0));
  t.mock.timers.tick(999);
  assert.equal(written.length, 1);
  t.mock.timers.tick(1);
  assert.equal(written.length, 2);
});
