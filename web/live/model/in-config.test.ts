/** Finds and replaces a model in the text of a configuration. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askingAlone, placesOf, withOther } from './in-config.ts';

const text = `{
  "brains": [
    { "name": "main",
      "policy": { "kind": "priority", "order": ["hosted_runtime", "ollama/small", "small"] },
      "models": [
        { "provider": "ollama", "model_id": "small", "locality": "local" },
        { "provider": "hosted_runtime", "model_id": "small", "locality": "cloud" }
      ] },
    { "name": "open", "dispatch": "sequential", "agent": { "tools": [] },
      "policy": { "kind": "consensus" },
      "models": [
        { "provider": "local_runtime", "model_id": "a/b", "locality": "local" },
        { "locality": "local", "provider": "local_runtime", "model_id": "small" }
      ] }
  ],
  "channels": []
}
`;
const name = 'local_runtime/small';

test('a model is found wherever it stands, by each name of its provider', () => {
  assert.deepEqual(placesOf(text, name), ['brains[0].models[0]', 'brains[1].models[1]']);
  assert.deepEqual(placesOf(text, 'hosted_runtime/small'), ['brains[0].models[1]']);
  assert.deepEqual(placesOf(text, 'local_runtime/a/b'), ['brains[1].models[0]']);
  assert.deepEqual(placesOf(text, 'local_runtime/b'), []);
  for (const none of ['', 'no json', '[]', '{"brains": {}}', '{"brains": [7, null]}']) {
    assert.deepEqual(placesOf(none, name), []);
  }
});

test('another takes its place, and its rank, and no other byte is changed', () => {
  const other = withOther(text, name, 'qwen3:"4b"');
  const expected = text
    .replace('"ollama/small", "small"', String.raw`"ollama/qwen3:\"4b\"", "qwen3:\"4b\""`)
    .replace('"ollama", "model_id": "small"', String.raw`"ollama", "model_id": "qwen3:\"4b\""`)
    .replace(
      '"local_runtime", "model_id": "small"',
      String.raw`"local_runtime", "model_id": "qwen3:\"4b\""`,
    );
  assert.equal(other, expected);
  assert.equal(withOther(text, 'local_runtime/none', 'x'), null);
});

test('what takes the place of the practice model is asked where it usually is', () => {
  const file = (id: string, port: number): string =>
    JSON.stringify({
      brains: [
        {
          name: 'assistant',
          models: [
            {
              provider: 'local_runtime',
              model_id: id,
              locality: 'local',
              base_url: `http://127.0.0.1:${port}`,
            },
          ],
        },
      ],
    });
  const after = withOther(file('practice', 8092), 'local_runtime/practice', 'llama3.2');
  assert.equal(after, file('llama3.2', 11_434));
  const kept = withOther(file('small', 8092), name, 'llama3.2');
  assert.equal(kept, file('llama3.2', 8092));
});

test('it is asked alone: by its brain, and none of its tools or other models', () => {
  const asked = askingAlone(text, 'local_runtime/a/b');
  assert.ok(asked !== null);
  assert.equal(asked.brain, 'open');
  const { brains, channels } = JSON.parse(asked.config) as Record<string, object[]>;
  assert.deepEqual(channels, []);
  assert.deepEqual(brains?.[1], {
    name: 'open',
    policy: { kind: 'priority' },
    models: [{ provider: 'local_runtime', model_id: 'a/b', locality: 'local' }],
  });
  assert.deepEqual(brains?.[0], (JSON.parse(text) as { brains: object[] }).brains[0]);
  assert.equal(askingAlone(text, 'local_runtime/none'), null);
});
