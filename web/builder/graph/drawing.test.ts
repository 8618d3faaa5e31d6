/** The graph's nodes and positions, which follow from the document alone. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { drawingOf, nodeWidth, type Drawing } from './drawing.ts';

const examples = join(import.meta.dirname, '../../../examples');

function draw(document: object): Drawing {
  const text = JSON.stringify(document);
  return drawingOf(JSON.parse(text) as JsonObject, validateText(text).problems);
}

const example = (name: string): JsonObject =>
  JSON.parse(readFileSync(join(examples, `${name}.json`), 'utf8')) as JsonObject;

test('every example is three columns in which nothing covers another', () => {
  for (const file of globSync('*.json', { cwd: examples })) {
    const { nodes, edges } = draw(example(file.replace('.json', '')));
    for (const one of nodes) {
      for (const two of nodes) {
        if (one === two || one.x !== two.x) continue;
        const apart = one.y + one.height <= two.y || two.y + two.height <= one.y;
        assert.ok(apart, `${file}: ${one.id} covers ${two.id}`);
      }
      assert.ok(nodes.every(({ x }) => x === one.x || Math.abs(x - one.x) > nodeWidth));
    }
    assert.equal(new Set(nodes.map(({ id }) => id)).size, nodes.length);
    const ids = new Set(nodes.map(({ id }) => id));
    for (const { source, target } of edges) assert.ok(ids.has(source) && ids.has(target));
  }
});

test('a private brain shows which model it never asks, and why', () => {
  const { nodes, edges } = draw(example('private'));
  const dropped = nodes.filter((node) => node.kind === 'model' && node.state === 'never');
  assert.deepEqual(
    dropped.map(({ title, remark, dim }) => [title, remark, dim]),
    [['gpt-6-luna', 'never asked: private brain', true]],
  );
  assert.deepEqual(
    edges.map(({ label }) => label),
    [
      'webhook is answered by assistant',
      'assistant asks llama3.2',
      'assistant never asks gpt-6-luna',
    ],
  );
});

test('each route of a channel is a line with its number and what it takes', () => {
  const hook = { type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://a.test/' } };
  const { edges, nodes } = draw({
    ...example('echo'),
    channels: [{ ...hook, name: 'intake' }],
    routes: [
      { channel: 'intake', brain: 'echo', when: { senders: ['17'] } },
      { channel: 'intake', brain: 'echo' },
    ],
  });
  const routes = edges.filter(({ kind }) => kind === 'route');
  assert.deepEqual(
    routes.map(({ label, at }) => [label, at]),
    [
      ['route 1, sender 17: intake is answered by echo', 0],
      ['route 2, every other message: intake is answered by echo', 1],
    ],
  );
  const [channel] = nodes;
  assert.deepEqual(channel.kind === 'channel' && channel.words, [
    '1 · sender 17',
    '2 · every other message',
  ]);
  assert.deepEqual([channel.title, channel.facts.split(' · ')[0]], ['intake', 'Webhook']);
});

test('an order gives ranks, and an agent asks all of its models by them', () => {
  const document = example('consensus') as {
    brains: { agent?: object; policy: object }[];
  } & object;
  document.brains[0].policy = { kind: 'priority', order: ['gemma3'] };
  const remarks = (): unknown =>
    draw(document).nodes.flatMap((node) => (node.kind === 'model' ? [node.remark] : []));
  assert.deepEqual(remarks(), ['rank 2 of 3', 'rank 3 of 3', 'rank 1 of 3']);
  document.brains[0].agent = { tools: ['time'] };
  assert.deepEqual(remarks(), ['rank 2 of 3', 'rank 3 of 3', 'rank 1 of 3']);
});

test('what nothing leads to is dim and says so', () => {
  const { nodes } = draw({ ...example('echo'), routes: [] });
  assert.deepEqual(
    nodes.map(({ title, remark, dim }) => [title, remark, dim]),
    [
      ['webhook', 'no route: not started', true],
      ['echo', 'no route leads here: not started', true],
      ['llama3.2', null, false],
    ],
  );
});

test('a problem is shown at the one thing that it is about', () => {
  const document = {
    channels: [{ type: 'telegram', mode: 'polling', token_env: 'BOT', access: { allow: ['1'] } }],
    brains: [
      {
        name: 'a',
        sensitivity: 'secret',
        policy: { kind: 'priority' },
        models: [{ model_id: 'm' }],
      },
    ],
    routes: [{ channel: 'messenger_a', brain: 'b' }],
  };
  const { nodes, edges } = draw(document);
  const told = nodes.map(({ id, problems }) => [id, problems.map(({ path }) => path)]);
  assert.deepEqual(told, [
    ['channels[0]', ['routes[0].brain']],
    ['brains[0]', ['brains[0]', 'brains[0].sensitivity']],
    ['brains[0].models[0]', ['brains[0].models[0].provider', 'brains[0].models[0].locality']],
  ]);
  assert.deepEqual(
    edges.map(({ kind }) => kind),
    ['asks'],
  );
});

test('a document that is no configuration is drawn as far as it goes', () => {
  assert.deepEqual(draw({}), { nodes: [], edges: [] });
  const odd = draw({ channels: [1, {}], brains: [null, { models: [3] }], routes: [[], 'x'] });
  assert.equal(odd.nodes.length, 5);
});

test('what API clients can use has a line from their own node, and needs no route', () => {
  const { channels, brains } = example('echo');
  const open = { ...(brains as object[])[0], name: 'open' };
  const completions = { token_env: 'T', brains: ['open', 'gone'] };
  const { nodes, edges } = draw({
    ...example('echo'),
    brains: [...(brains as object[]), open],
    completions,
  });
  const node = nodes.find(({ kind }) => kind === 'API')!;
  assert.deepEqual([node.path, node.facts], [['completions'], '127.0.0.1:8092/v1']);
  assert.ok(nodes.filter(({ x }) => x === node.x).every(({ y }) => y <= node.y));
  const lines = edges.filter(({ kind }) => kind === 'offers');
  assert.deepEqual(
    lines.map(({ source, label }) => [source, label]),
    [[node.id, 'Clients can use open']],
  );
  const brain = nodes.find(({ title }) => title === 'open')!;
  assert.deepEqual([brain.dim, brain.remark, (channels as object[]).length], [false, null, 1]);
});
