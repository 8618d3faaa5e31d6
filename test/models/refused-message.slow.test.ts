/** A message that a model refuses does not spoil the rest of the conversation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConfigured } from '../config/program.ts';
import type { FailureName } from '../fake/failures.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';

const wordsOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { role: string; content: string }[] }).messages
    .filter(({ role }) => role !== 'system')
    .map(({ content }) => content);

/** Refuses every request with FAIL, and repeats all others. */
const picky =
  (fail: FailureName) =>
  (call: ModelCall): Step =>
    call.text.includes('FAIL') ? { fail } : { answer: wordsOf(call).join(' | ') };

const agent = { agent: { tools: ['time'] } };

type Service = Awaited<ReturnType<typeof startConfigured>>;

/** @param more fields of the brain */
function withBrain({ first, model }: Pick<Service, 'first' | 'model'>, more: object): object {
  const [brain] = first.brains;
  const [one] = brain!['models'] as object[];
  const models = [{ ...one, base_url: model.url, max_retries: 0 }];
  return { ...first, brains: [{ ...brain, models, ...more }] };
}

async function stepsOf(service: Service): Promise<readonly object[]> {
  type Rows = { readonly rows: readonly { readonly id: string }[] };
  type Told = { readonly trace: { readonly steps: readonly { readonly kind: string }[] } };
  const { rows } = (await service.ask('messages')).body as unknown as Rows;
  const { body } = await service.ask(`messages/${rows[0]!.id}`);
  return (body as unknown as Told).trace.steps.filter(({ kind }) => kind === 'left_out');
}

for (const [what, more] of [
  ['a responder', {}],
  ['an agent', agent],
] as const) {
  for (const fail of ['500', '400'] as const) {
    test(`${what} answers after a message that its model refuses with ${fail}`, async () => {
      await using service = await startConfigured({ storage: { path: 'svc.db' } });
      assert.equal((await service.put(withBrain(service, more))).status, 200);
      await service.model.script(picky(fail));
      assert.equal(await service.say('one'), 'one');
      assert.match(await service.say('FAIL'), /^Sorry, I have no answer/);
      const askedWith = async (text: string): Promise<readonly (string | undefined)[]> => {
        const before = service.model.calls.length;
        assert.match(await service.say(text), new RegExp(`\\| ${text}$`));
        return service.model.calls.slice(before).map((call) => wordsOf(call).at(-1));
      };
      const told = { kind: 'left_out', models: ['local_runtime/llama3.2'], turns: 1, notes: 0 };
      const [unanswered, refused] = ['unanswered', 'refused'].map((why) => ({ ...told, why }));
      // An invalid request may be too long, so svc first repeats it with half of the history.
      const half = fail === '400' ? ['FAIL\n\ntwo'] : [];
      assert.deepEqual(await askedWith('two'), ['FAIL\n\ntwo', ...half, 'two']);
      if (fail === '500') {
        // The failure may have been chance.
        assert.deepEqual(await stepsOf(service), [unanswered]);
        assert.deepEqual(await askedWith('more'), ['more', 'more']);
      }
      assert.deepEqual(await stepsOf(service), [unanswered, refused]);
      await service.restart();
      assert.deepEqual(await askedWith('three'), ['three'], 'and it is not shown again');
      assert.deepEqual(await stepsOf(service), []);
    });
  }
}

test('where the model fails with and without it, nothing is forgotten', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  assert.equal((await service.put(withBrain(service, {}))).status, 200);
  await service.model.script({ fail: '500' });
  await service.say('one');
  await service.say('two');
  await service.model.script((call) => ({ answer: wordsOf(call).join(' | ') }));
  assert.equal(await service.say('three'), 'one\n\ntwo\n\nthree');
  assert.deepEqual(await stepsOf(service), []);
});

test('what fell into an outage is there again, also after one more hiccup', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  assert.equal((await service.put(withBrain(service, {}))).status, 200);
  await service.model.script({ fail: '500' });
  await service.say('my name is Ada');
  let tries = 0;
  await service.model.script((call) => {
    return tries++ === 0 ? { fail: 'reset' } : { answer: wordsOf(call).join(' | ') };
  });
  assert.equal(await service.say('who am I?'), 'who am I?');
  assert.match(await service.say('and now?'), /my name is Ada/);
});

test('only the message that is to blame is left out for good', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  assert.equal((await service.put(withBrain(service, {}))).status, 200);
  await service.model.script({ fail: '500' });
  await service.say('my name is Ada');
  await service.model.script(picky('400'));
  await service.say('FAIL');
  assert.equal(await service.say('who am I?'), 'who am I?');
  assert.match(await service.say('and now?'), /my name is Ada/);
});

test('an agent’s turn that ends without an answer leaves nothing out for good', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  assert.equal((await service.put(withBrain(service, agent))).status, 200);
  await service.model.script(picky('400'));
  await service.say('FAIL');
  await service.model.script((call) => {
    if (call.text.includes('FAIL')) return { fail: '400' };
    if (call.text.includes('"role":"tool"')) return { fail: '400' };
    return { answer: '', calls: [{ name: 'time', arguments: {} }] };
  });
  assert.match(await service.say('two'), /^Sorry, I have no answer/);
  assert.ok(service.model.calls.some((call) => call.text.includes('"role":"tool"')));
  await service.model.script((call) => ({ answer: wordsOf(call).join(' | ') }));
  assert.match(await service.say('three'), /FAIL/);
});

test('what a model refuses is not recalled, and a recalled block is not left out', async () => {
  const settings = { storage: { path: 'svc.db' }, session: { recall_max: 5 } };
  await using service = await startConfigured(settings);
  assert.equal((await service.put(withBrain(service, {}))).status, 200);
  await service.model.script(picky('400'));
  for (const text of ['my name is Ada', 'FAIL', '/new', '/recall']) await service.say(text);
  const before = service.model.calls.length;
  assert.match(await service.say('who am I?'), /my name is Ada/);
  assert.equal(service.model.calls.length, before + 1);
});

for (const [what, step] of [
  ['403, as a filter answers', { status: 403, body: '{"error":"flagged"}' }],
  ['an answer that is too large', { fail: 'oversized' }],
] as const) {
  test(`a message that is met with ${what} spoils no other`, async () => {
    await using service = await startConfigured({ storage: { path: 'svc.db' } });
    assert.equal((await service.put(withBrain(service, {}))).status, 200);
    await service.model.script((call) => {
      return call.text.includes('FAIL') ? step : { answer: wordsOf(call).join(' | ') };
    });
    await service.say('FAIL');
    assert.equal(await service.say('two'), 'two');
    assert.equal(await service.say('three'), 'two | two | three');
  });
}

test('where sessions are on, the apology says how to begin anew', async () => {
  const settings = { storage: { path: 'svc.db' }, session: { triggers: ['/again'] } };
  await using service = await startConfigured(settings);
  await service.model.script({ fail: '400' });
  assert.match(await service.say('hello'), /\/again begins a new conversation/);
  assert.equal((await service.put({ ...service.first, session: { triggers: [] } })).status, 200);
  assert.doesNotMatch(await service.say('hello'), /begins a new conversation/);
});
