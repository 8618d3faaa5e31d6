/** Trials of a draft that name no brain: the routes of a channel choose it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { hostedModel, localModel, parsed, resultOf, start } from './trials-program.ts';

test('without a brain, the route that the text takes chooses it, and the answer says why', async () => {
  await using started = await start();
  const draft = started.draft({ name: 'main', models: [localModel(started)] });
  const coder = { sensitivity: 'public', models: [hostedModel(started)] };
  draft.brains.push({ ...draft.brains[0]!, name: 'coder', ...coder });
  const when = { senders: [42], commands: ['/code'] };
  draft.routes = [
    { channel: 'webhook', brain: 'coder', when, description: 'Ask about code' },
    { channel: 'webhook', brain: 'main' },
  ];
  const ask = (more: object) => started.tryIt(draft, { brain: null, channel: 'webhook', ...more });

  const routed = resultOf(await ask({ text: '/code sort', sender: '42' }));
  const why = 'the sender is 42, and the text begins with /code';
  assert.deepEqual(routed.route, { number: 1, why });
  assert.equal(routed.trace.brain, 'coder');
  assert.equal(lastOf(started.hosted.calls[0]!).content, 'sort');

  for (const more of [{ text: '/code sort' }, { text: 'sort', sender: '42' }]) {
    const other = resultOf(await ask(more));
    assert.deepEqual(other.route, { number: 2, why: 'it takes every other message' });
    assert.equal(other.trace.brain, 'main');
  }

  const calls = started.hosted.calls.length;
  const bare = resultOf(await ask({ text: '/code', sender: '42' }));
  assert.deepEqual(bare.decision, { kind: 'reply', text: 'Ask about code', model: null });
  assert.equal(started.hosted.calls.length, calls, 'no model is asked');

  const named = resultOf(await ask({ brain: 'coder', text: '/code sort' }));
  assert.deepEqual([named.route, named.trace.brain], [null, 'coder']);

  for (const brain of [null, 'main']) {
    const unknown = await ask({ brain, channel: 'support' });
    assert.equal(unknown.status, 404);
    assert.match(unknown.body, /"unknown_channel".*it has some for \\"webhook\\"/);
  }
  const vague = await ask({ channel: null });
  assert.equal(vague.status, 400);
  assert.match(vague.body, /brain and channel are missing/);
  parsed(await ask({ brain: 'main', channel: 'telegram' }));
});
