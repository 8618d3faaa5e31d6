/**
 * An error may hold text of a private brain's model: no log, page or metric shows it. The operator
 * may see a provider's words about itself.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage, wires } from '../agents/stage.ts';

const secret = 'the safe opens with 4711';
const call = `{"name": "memory_note", "arguments": {"note": "${secret}"`;

const errors = {
  // ollama#11781
  local_runtime: {
    error: `error parsing tool call: raw='${call}', err=unexpected end of JSON input`,
  },
  // llama.cpp#23838
  hosted_runtime: {
    error: {
      code: 500,
      message: `Failed to parse input at pos 9: ${secret}`,
      type: 'server_error',
    },
  },
} as const;

for (const wire of wires) {
  test(`${wire.provider}: what a model wrote is not told with an error`, async () => {
    const body = JSON.stringify(errors[wire.provider]);
    const brain = { sensitivity: 'private' };
    const more = { brain, env: { SVC_LOG: 'debug' } };
    await using scene = await stage(wire, { tools: ['time'] }, { status: 500, body }, more);
    await scene.say('What opens the safe?');
    const api = `http://127.0.0.1:${scene.adminPort}/api/v1/messages`;
    const list = (await (await fetch(api)).json()) as { rows: readonly { id: string }[] };
    const story = await (await fetch(`${api}/${list.rows[0]!.id}`)).text();
    assert.match(scene.log(), /to parse input at pos|error parsing tool call/);
    for (const told of [story, scene.log(), await scene.metrics()]) {
      assert.doesNotMatch(told, /safe opens|with 4711/);
    }
  });
}

test('where a model lies is told in the log, and to no reader of the API', async () => {
  const body = '{"error": "open /home/anna/models/x.gguf: no such file"}';
  const more = { brain: { sensitivity: 'public' } };
  await using scene = await stage(wires[0]!, { tools: ['time'] }, { status: 500, body }, more);
  await scene.say('hello');
  const api = `http://127.0.0.1:${scene.adminPort}/api/v1/messages`;
  const list = (await (await fetch(api)).json()) as { rows: readonly { id: string }[] };
  const story = await (await fetch(`${api}/${list.rows[0]!.id}`)).text();
  assert.match(story, /"result":"server_error"/);
  assert.doesNotMatch(story, /anna/);
  assert.match(scene.log(), /home.anna.models/);
});
