import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineKey, ratesOf } from './rates.ts';

test('a line has its own traffic, also where two lead to one node', () => {
  const { nodes, lines } = ratesOf({
    traffic: {
      answered: [
        { channel: 'webhook', brain: 'desk', perMinute: 5 },
        { channel: 'messenger_a', brain: 'desk', perMinute: 2 },
      ],
      asked: [
        { brain: 'desk', model: 'local_runtime/a', perMinute: 7 },
        { brain: 'other', model: 'local_runtime/a', perMinute: 1 },
      ],
    },
  });
  assert.deepEqual([nodes.get('brain desk'), nodes.get('model local_runtime/a')], [7, 8]);
  assert.equal(lines.get(lineKey('channel webhook', 'brain desk')), 5);
  assert.equal(lines.get(lineKey('channel messenger_a', 'brain desk')), 2);
  assert.equal(lines.get(lineKey('brain other', 'model local_runtime/a')), 1);
});

test('a service that tells of no traffic is drawn without any', () => {
  assert.deepEqual(ratesOf({ traffic: null }), { nodes: new Map(), lines: new Map() });
});
