import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { graphOf } from './graph.ts';

const status = (more: object): Status =>
  ({
    channels: [{ type: 'webhook', state: 'up', brain: 'desk' }],
    brains: [
      { name: 'desk', sensitivity: 'private', dispatch: 'fanout', policy: 'priority', models: [] },
      { name: 'idle', sensitivity: 'public', dispatch: 'fanout', policy: 'priority', models: [] },
    ],
    models: [],
    deliveries: [],
    answering: [],
    ...more,
  }) as unknown as Status;

const tonesOf = (one: Status) =>
  graphOf(one).columns.map(({ nodes }) => nodes.map(({ tone }) => tone));

test('what works is green, and a brain without a route is none of it', () => {
  assert.deepEqual(tonesOf(status({})), [['good'], ['good', 'off'], []]);
});

test('a brain whose messages go unanswered is red, and so is a channel without replies', () => {
  const answering = (standing: string) => status({ answering: [{ brain: 'desk', standing }] });
  assert.deepEqual(tonesOf(answering('failing'))[1], ['bad', 'off']);
  assert.deepEqual(tonesOf(answering('degraded'))[1], ['bad', 'off']);
  assert.deepEqual(tonesOf(answering('up'))[1], ['good', 'off']);
  const deaf = status({ deliveries: [{ channel: 'webhook', state: 'failing', reasons: [] }] });
  const [channel] = graphOf(deaf).columns[0]!.nodes;
  assert.deepEqual([channel!.tone, channel!.state], ['bad', 'its replies do not arrive']);
});
