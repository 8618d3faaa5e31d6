/** Behaviour of only one of the two runtimes; the contract suite has their common behaviour. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Bench, failedKind, neverStopped, requestOf } from '../../../test/contract/model.ts';
import type { Script, Step } from '../../../test/fake/model-server.ts';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../../test/fake/openai.ts';
import { ownHost as host } from '../../../test/fake/own-host.ts';
import type { HistoryLine } from '../../domain/conversation.ts';
import { Stopper } from '../../lib/stop.ts';

const local = { provider: 'local_runtime', modelId: 'llama3' } as const;
const hosted = { provider: 'hosted_runtime', modelId: 'gpt-test' } as const;
/** A list of models with one entry. */
const listOf = (entry: object): string =>
  JSON.stringify({ models: [{ name: 'llama3:latest', ...entry }] });
const refusesToThink = JSON.stringify({ error: '"llama3" does not support thinking' });
/** That many lines; the last one is the person's message. */
const talkOf = (count: number): readonly HistoryLine[] =>
  Array.from({ length: count }, (_, index) => ({
    role: (count - index) % 2 === 1 ? 'user' : 'assistant',
    text: `line ${index} `.repeat(20),
  }));
const priv = { sensitivity: 'private' } as const;

suite('the local runtime', { concurrency: true }, () => {
  test('context_tokens goes with every request as num_ctx, or with none', async () => {
    const script: Script = ({ body }, before) => {
      const { messages, think } = body as { messages: unknown[]; think?: boolean };
      if (think === false && before === 0) return { status: 400, body: refusesToThink };
      return messages.length > 5 ? { fail: 'overflow' } : { answer: 'hello' };
    };
    await using fake = await startFakeOllama(script);
    await using bench = new Bench();
    const limits = { contextTokens: 8_192, outputTokensMax: 300 };
    const model = bench.build(local, fake.url, limits);
    const onText = (): void => {};
    await model.ask(requestOf({ lines: talkOf(9) }), neverStopped);
    await model.ask(requestOf({ onText }), neverStopped);
    const sent = fake.calls.map(({ body }) => (body as { options?: object }).options);
    assert.ok(sent.length >= 4);
    for (const options of sent) assert.deepEqual(options, { num_predict: 300, num_ctx: 8_192 });
    const alone = bench.build(local, fake.url, { contextTokens: 4_096 });
    await alone.ask(requestOf(), neverStopped);
    const last = fake.calls.at(-1)!.body as { options?: object };
    assert.deepEqual(last.options, { num_ctx: 4_096 });
    await bench.build(local, fake.url).ask(requestOf(), neverStopped);
    assert.ok(!fake.calls.at(-1)!.text.includes('options'));
  });

  test('an answer in parts that the context cut is asked for again, and told anew', async () => {
    // With the whole prompt in its cache, Ollama leaves out prompt_eval_count: ollama#3427.
    const more = { done_reason: 'length', prompt_eval_count: undefined, eval_count: 3 };
    await using fake = await startFakeOllama((call) =>
      (call.body as { messages: unknown[] }).messages.length > 5
        ? { answer: 'half of it', more }
        : { answer: 'all of it' },
    );
    await using bench = new Bench();
    const texts: string[] = [];
    const lines = talkOf(9);
    const request = requestOf({ lines, onText: (whole) => void texts.push(whole) });
    const outcome = await bench.build(local, fake.url).ask(request, neverStopped);
    assert.ok(outcome.kind === 'answer' && outcome.text === 'all of it');
    assert.deepEqual([outcome.linesDropped, outcome.tries.length], [4, 2]);
    assert.deepEqual(texts, ['half', 'half of', 'half of it', 'all', 'all of', 'all of it']);
    await using other = new Bench();
    const shown = requestOf({ lines, onText() {}, isShownForGood: true });
    const final = await other.build(local, fake.url).ask(shown, neverStopped);
    assert.ok(final.kind === 'answer' && final.isCut === true, 'it cannot be told anew');
    assert.deepEqual([final.text, final.tries.length], ['half of it', 1]);
  });

  test('a streamed call tells when its first word came', async () => {
    await using fake = await startFakeOllama(() => ({ answer: 'all of it' }));
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    const onText = (): void => bench.clock.pass(40);
    await model.ask(requestOf({ onText }), neverStopped);
    await model.ask(requestOf(), neverStopped);
    assert.deepEqual(bench.firstWords, [0, undefined]);
  });

  test('an answer that the context cut before its first word is asked for again', async () => {
    const more = { done_reason: 'length', prompt_eval_count: 4_090, eval_count: 6 };
    await using fake = await startFakeOllama((call) =>
      (call.body as { messages: unknown[] }).messages.length > 5
        ? { answer: '', more }
        : { answer: 'all of it' },
    );
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    const outcome = await model.ask(requestOf({ lines: talkOf(9) }), neverStopped);
    assert.ok(outcome.kind === 'answer' && outcome.text === 'all of it', JSON.stringify(outcome));
  });

  test('an answer of a vendor is refused in private, and no private text follows', async () => {
    const more = { remote_host: 'https://vendor.example', remote_model: 'big' };
    await using fake = await startFakeOllama({ answer: 'hi', more }, { host });
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'left_machine');
    assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'left_machine');
    assert.equal(fake.calls.length, 1);
    assert.equal((await model.ask(requestOf(), neverStopped)).kind, 'answer');
    const found = await model.check('private', bench.clock.in(5_000));
    assert.ok(
      found.kind === 'reached' && found.runs === 'elsewhere',
      'a list takes back no answer',
    );
  });

  test('a model with a tag of the cloud is asked nothing private', async () => {
    await using fake = await startFakeOllama(undefined, { host });
    await using bench = new Bench();
    const model = bench.build({ ...local, modelId: 'gpt-oss:120b-cloud' }, fake.url);
    assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'left_machine');
    assert.equal(fake.connections, 0);
  });

  test('a check that finds a model to be handed on shuts it to private requests', async () => {
    const remoteHosts = { 'llama3:latest': 'https://vendor.example' };
    await using fake = await startFakeOllama({ answer: 'hi' }, { remoteHosts, host });
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    const found = await model.check('private', bench.clock.in(5_000));
    assert.deepEqual(found, { kind: 'reached', hasModel: true, runs: 'elsewhere', others: [] });
    assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'left_machine');
    assert.equal(fake.calls.length, 0);
  });

  test('a private request waits for the look, and one look serves all who wait', async () => {
    const remoteHosts = { 'llama3:latest': 'https://vendor.example' };
    await using fake = await startFakeOllama({ answer: 'hi' }, { remoteHosts, host });
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    const asking = [1, 2, 3].map(() => model.ask(requestOf(priv), neverStopped));
    const outcomes = await Promise.all(asking);
    assert.deepEqual(outcomes.map(failedKind), ['left_machine', 'left_machine', 'left_machine']);
    assert.deepEqual([fake.calls.length, fake.looks.length], [0, 1]);
  });

  test('what one model learnt, the next of that id at that address knows', async () => {
    const remoteHosts = { 'llama3:latest': 'https://vendor.example' };
    await using fake = await startFakeOllama({ answer: 'hi' }, { remoteHosts, host });
    await using bench = new Bench();
    await bench.build(local, fake.url).check('private', bench.clock.in(5_000));
    await fake.script({ fail: '500' }, 'looks');
    const next = bench.build(local, fake.url);
    assert.equal(failedKind(await next.ask(requestOf(priv), neverStopped)), 'left_machine');
    assert.deepEqual([fake.calls.length, fake.looks.length], [0, 1]);
    await using other = await startFakeOllama({ answer: 'hi' }, { host });
    const elsewhere = bench.build(local, other.url);
    assert.equal((await elsewhere.ask(requestOf(priv), neverStopped)).kind, 'answer');
  });

  const nothing = { models: [] };
  const looksThatShowNothing: Readonly<Record<string, readonly [Step, string]>> = {
    'a reset': [{ fail: 'reset' }, 'connection_lost'],
    'a 500': [{ fail: '500' }, 'server_error'],
    'a 503': [{ fail: '503' }, 'overloaded'],
    'a 500 with a good list': [{ status: 500, body: listOf({}) }, 'server_error'],
    'a 400': [{ fail: '400' }, 'rejected'],
    'a 401': [{ fail: '401' }, 'unauthorized'],
    'a redirect': [{ fail: 'redirect' }, 'redirected'],
    'a page': [{ fail: 'html' }, 'malformed_answer'],
    'a list too long': [{ fail: 'oversized' }, 'answer_too_large'],
    'a list of nothing': [{ status: 200, body: JSON.stringify(nothing) }, 'not_found'],
    'a list without it': [{ status: 200, body: listOf({ name: 'llama3:8b' }) }, 'not_found'],
    'odd types': [{ status: 200, body: listOf({ name: { x: 'llama3' } }) }, 'not_found'],
  };
  for (const [name, [step, kind]] of Object.entries(looksThatShowNothing)) {
    test(`${name} shows nothing: no private text is sent, and the next looks again`, async () => {
      await using fake = await startFakeOllama({ answer: 'hi' }, { host });
      await using bench = new Bench();
      const model = bench.build(local, fake.url);
      await fake.script(step, 'looks');
      assert.equal((await model.ask(requestOf(), neverStopped)).kind, 'answer');
      for (const looks of [1, 2]) {
        const outcome = await model.ask(requestOf(priv), neverStopped);
        assert.equal(failedKind(outcome), kind);
        assert.equal(outcome.tries.at(-1)?.failed, kind);
        assert.deepEqual([fake.looks.length, fake.calls.length], [looks, 1]);
      }
      await fake.script({ status: 200, body: listOf({}) }, 'looks');
      for (const calls of [2, 3]) {
        assert.equal((await model.ask(requestOf(priv), neverStopped)).kind, 'answer');
        assert.deepEqual([fake.looks.length, fake.calls.length], [4, calls]);
      }
    });
  }

  test('a runtime that never answers the look is sent nothing private', async () => {
    await using fake = await startFakeOllama({ answer: 'hi' }, { host });
    await using bench = new Bench();
    const seen = Promise.withResolvers<void>();
    await fake.script(() => {
      seen.resolve();
      return { fail: 'hang' };
    }, 'looks');
    const asked = bench.build(local, fake.url).ask(requestOf(priv), neverStopped);
    await seen.promise;
    bench.clock.pass(5_000);
    assert.equal(failedKind(await asked), 'timeout');
    assert.equal(fake.calls.length, 0);
  });

  test('a look for public requests shows no model to be here', async () => {
    await using fake = await startFakeOllama({ answer: 'hi' }, { host });
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    const found = await model.check('public', bench.clock.in(5_000));
    assert.deepEqual(found, { kind: 'reached', hasModel: true, runs: 'unknown', others: [] });
    await fake.script({ fail: '500' }, 'looks');
    assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'server_error');
  });

  test('a runtime without a list of models is here, as its address is', async () => {
    await using fake = await startFakeOllama({ answer: 'hi' }, { host });
    await using bench = new Bench();
    await fake.script({ fail: '404' }, 'looks');
    const model = bench.build(local, fake.url);
    assert.equal((await model.ask(requestOf(priv), neverStopped)).kind, 'answer');
  });

  test('a vendor that is named in a list or an answer, in any type, is remembered', async () => {
    for (const named of [{ remote_model: 'big' }, { remote_host: {} }, { remote_host: null }]) {
      for (const on of ['looks', 'calls'] as const) {
        await using fake = await startFakeOllama({ answer: 'hi' }, { host });
        await using bench = new Bench();
        if (on === 'looks') await fake.script({ status: 200, body: listOf(named) }, 'looks');
        else await fake.script({ answer: '', more: named });
        const model = bench.build(local, fake.url);
        assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'left_machine');
        await fake.script({ answer: 'hi' });
        await fake.script({ status: 200, body: listOf({}) }, 'looks');
        const sent = fake.calls.length;
        assert.equal(failedKind(await model.ask(requestOf(priv), neverStopped)), 'left_machine');
        assert.equal(fake.calls.length, sent);
      }
    }
  });

  test('a look that fails while a private request waits for it is taken up again', async () => {
    const remoteHosts = { 'llama3:latest': 'https://vendor.example' };
    await using fake = await startFakeOllama({ answer: 'hi' }, { remoteHosts });
    await using bench = new Bench();
    const model = bench.build(local, fake.url);
    const list = JSON.stringify({ models: [{ name: 'llama3:latest', remote_host: 'vendor' }] });
    await fake.script((_call, before) => {
      return before === 0 ? { fail: 'reset' } : { status: 200, body: list };
    }, 'looks');
    const check = model.check('private', bench.clock.in(5_000));
    const asked = model.ask(requestOf(priv), neverStopped);
    assert.equal((await check).kind, 'failed');
    assert.equal(failedKind(await asked), 'left_machine');
    assert.equal(fake.calls.length, 0);
  });

  test('a request that waits for the look of one with less time goes on with its own', async () => {
    await using fake = await startFakeOllama({ answer: 'hi' }, { host });
    await using bench = new Bench();
    const seen = Promise.withResolvers<void>();
    await fake.script((_call, before) => {
      seen.resolve();
      return before === 0 ? { fail: 'hang' } : { status: 200, body: listOf({}) };
    }, 'looks');
    const model = bench.build(local, fake.url);
    const hasted = model.ask(requestOf({ ...priv, deadlineAt: bench.clock.in(50) }), neverStopped);
    await seen.promise;
    const asked = model.ask(requestOf(priv), neverStopped);
    bench.clock.pass(50);
    assert.equal(failedKind(await hasted), 'deadline');
    assert.equal((await asked).kind, 'answer');
    assert.deepEqual([fake.looks.length, fake.calls.length], [3, 1]);
  });

  test('a request that is given up while it waits for the look is not sent', async () => {
    await using fake = await startFakeOllama({ answer: 'hi' }, { host });
    await using bench = new Bench();
    const seen = Promise.withResolvers<void>();
    await fake.script(() => {
      seen.resolve();
      return { fail: 'hang' };
    }, 'looks');
    const ending = new Stopper();
    const asked = bench.build(local, fake.url).ask(requestOf(priv), ending);
    await Promise.race([seen.promise, asked]);
    ending.stop();
    assert.equal(failedKind(await asked), 'cancelled');
    assert.equal(fake.calls.length, 0);
  });

  for (const ending of ['/v1', '/api', '/api/chat', '/v1/chat/completions']) {
    test(`an address that ends in ${ending} is found all the same`, async () => {
      await using fake = await startFakeOllama({ answer: 'hi' }, { host });
      await using bench = new Bench();
      const model = bench.build(local, fake.url + ending);
      const found = await model.check('private', bench.clock.in(5_000));
      assert.ok(found.kind === 'reached' && found.hasModel === true);
      assert.equal((await model.ask(requestOf(priv), neverStopped)).kind, 'answer');
      assert.deepEqual(
        fake.calls.map(({ path }) => path),
        ['/api/chat'],
      );
      const unlooked = bench.build({ ...local, modelId: 'llama4' }, fake.url + ending);
      assert.equal((await unlooked.ask(requestOf(), neverStopped)).kind, 'answer');
    });
  }

  test('an answer that is not done is no answer', async () => {
    await using fake = await startFakeOllama({ answer: 'hel', more: { done: false } }, { host });
    await using bench = new Bench();
    const outcome = await bench.build(local, fake.url).ask(requestOf(), neverStopped);
    assert.equal(failedKind(outcome), 'malformed_answer');
  });
});

suite('the hosted runtime', { concurrency: true }, () => {
  test('context_tokens is never sent, and an answer that it cut is asked for again', async () => {
    const chunk = (delta: object, end: string | null): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`;
    const cut = `${chunk({ content: 'half' }, null)}${chunk({}, 'length')}data: [DONE]\n\n`;
    const headers = { 'content-type': 'text/event-stream' };
    await using fake = await startFakeOpenai((call) =>
      (call.body as { messages: unknown[] }).messages.length > 5
        ? { status: 200, body: cut, headers }
        : { answer: 'all of it' },
    );
    await using bench = new Bench();
    const model = bench.build(hosted, fake.url, { contextTokens: 8_192 });
    const texts: string[] = [];
    const onText = (whole: string): void => void texts.push(whole);
    const outcome = await model.ask(requestOf({ lines: talkOf(9), onText }), neverStopped);
    assert.ok(outcome.kind === 'answer' && outcome.text === 'all of it', JSON.stringify(outcome));
    assert.deepEqual([texts[0], texts.at(-1)], ['half', 'all of it']);
    for (const { text } of fake.calls) assert.doesNotMatch(text, /8192|num_ctx|context/);
  });

  test('what was changed for a refusal in vain is kept for no other request', async () => {
    const error = { message: 'Conversation roles must alternate user/assistant/user/assistant' };
    const messages = ({ body }: { readonly body: unknown }): readonly { role: string }[] =>
      (body as { messages: readonly { role: string }[] }).messages;
    await using fake = await startFakeOpenai((call) => {
      const isRefused = messages(call).some(({ role }) => role === 'tool');
      return isRefused ? { status: 400, body: JSON.stringify({ error }) } : { answer: 'hello' };
    });
    await using bench = new Bench();
    const model = bench.build(hosted, fake.url);
    const call = { id: 'a', name: 'time', arguments: {} };
    const lines = [
      { role: 'user', text: 'now?' },
      { role: 'calls', text: '', calls: [call] },
      { role: 'result', call, text: 'noon' },
    ] as const;
    const refused = await model.ask(requestOf({ system: 'Be brief.', lines }), neverStopped);
    assert.equal(failedKind(refused), 'rejected');
    assert.equal(
      (await model.ask(requestOf({ system: 'Be brief.' }), neverStopped)).kind,
      'answer',
    );
    assert.equal(messages(fake.calls.at(-1)!)[0]!.role, 'system');
  });

  test('an address without a path is tried once with /v1, which is remembered', async () => {
    await using fake = await startFakeOpenai(undefined, { host });
    await using bench = new Bench();
    const model = bench.build(hosted, fake.origin);
    const first = await model.ask(requestOf(), neverStopped);
    assert.equal(first.kind, 'answer');
    assert.deepEqual(
      first.tries.map((one) => one.failed),
      ['not_found', null],
    );
    await fake.script({ fail: '404' });
    assert.equal((await model.ask(requestOf(), neverStopped)).tries.length, 1);
    assert.deepEqual(
      fake.calls.map((call) => call.path),
      ['/chat/completions', '/v1/chat/completions', '/v1/chat/completions'],
    );
  });

  test('a check finds /v1 too', async () => {
    await using fake = await startFakeOpenai(undefined, { host });
    await using bench = new Bench();
    const model = bench.build(hosted, fake.origin);
    const found = await model.check('private', bench.clock.in(5_000));
    assert.deepEqual(found, { kind: 'reached', hasModel: true, runs: 'here', others: [] });
    assert.equal((await model.ask(requestOf(), neverStopped)).tries.length, 1);
  });

  for (const ending of ['/chat/completions', '/models']) {
    test(`an address that ends in ${ending} is found all the same`, async () => {
      await using fake = await startFakeOpenai(undefined, { host });
      await using bench = new Bench();
      const model = bench.build(hosted, fake.url + ending);
      const found = await model.check('private', bench.clock.in(5_000));
      assert.ok(found.kind === 'reached' && found.hasModel === true);
      assert.equal((await model.ask(requestOf(), neverStopped)).kind, 'answer');
      assert.deepEqual(
        fake.calls.map(({ path }) => path),
        ['/v1/chat/completions'],
      );
    });
  }

  test('fields that a provider refuses are left out, once and for all', async () => {
    // Groq: github.com/cline/cline, issue 6152.
    const words =
      "'messages.1' : for 'role:assistant' the following must be satisfied[\
('messages.1' : property 'reasoning_content' is unsupported)]";
    await using fake = await startFakeOpenai(
      ({ text }) =>
        text.includes('reasoning_content')
          ? { status: 400, body: JSON.stringify({ error: { message: words } }) }
          : { answer: 'hi' },
      { host },
    );
    await using bench = new Bench();
    const model = bench.build(hosted, fake.url);
    const call = { id: 'a', name: 'calc', arguments: {} };
    const extra = { reasoning_content: 'hm' };
    const lines = [
      { role: 'user', text: 'hello' },
      { role: 'calls', text: '', calls: [call], extra },
      { role: 'result', call, text: '2' },
    ] as const;
    for (let times = 0; times < 2; times++) {
      assert.equal((await model.ask(requestOf({ lines }), neverStopped)).kind, 'answer');
    }
    assert.equal(fake.calls.length, 3);
  });

  test('who wants the thinking of every line back is given an empty one', async () => {
    // DeepSeek V4, Kimi: github.com/MoonshotAI/kimi-cli, issue 2141.
    const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
    await using fake = await startFakeOpenai(
      ({ text }) =>
        text.includes('"reasoning_content":""')
          ? { answer: 'hi' }
          : { status: 400, body: JSON.stringify({ error: { message } }) },
      { host },
    );
    await using bench = new Bench();
    const model = bench.build(hosted, fake.url);
    const lines = [
      { role: 'user', text: 'hello' },
      { role: 'assistant', text: 'hi' },
      { role: 'user', text: 'and?' },
    ] as const;
    for (let times = 0; times < 2; times++) {
      assert.equal((await model.ask(requestOf({ lines }), neverStopped)).kind, 'answer');
    }
    assert.equal(fake.calls.length, 3);
  });

  test('an address with a path is taken as it is', async () => {
    await using fake = await startFakeOpenai({ fail: '404' }, { base: '/api/v3', host });
    await using bench = new Bench();
    const outcome = await bench.build(hosted, fake.url).ask(requestOf(), neverStopped);
    assert.equal(failedKind(outcome), 'not_found');
    assert.equal(fake.calls.length, 1);
  });

  test('a runtime without a list of models is reached all the same', async () => {
    await using fake = await startFakeOpenai({ answer: 'hi' }, { models: null, host });
    await using bench = new Bench();
    const found = await bench.build(hosted, fake.url).check('private', bench.clock.in(5_000));
    assert.deepEqual(found, { kind: 'reached', hasModel: null, runs: 'here', others: [] });
  });
});

suite('the calls in flight to a model', { concurrency: true }, () => {
  test('holds back what is over the bound until an answer is there', async () => {
    // No answer comes earlier than this, on any machine.
    const replyDelayMs = 20;
    await using fake = await startFakeOllama({ answer: 'hi', delayMs: replyDelayMs }, { host });
    await using bench = new Bench();
    const model = bench.build(local, fake.url, { inFlightMax: 1 });
    const asking = [1, 2, 3].map(() => model.ask(requestOf(), neverStopped));
    await Promise.all(asking);
    const [a, b, c] = fake.calls.map((call) => call.at);
    assert.ok(b! - a! >= 15 && c! - b! >= 15, 'never two at once');
  });

  test('lets a request go whose time is over while it waits, without asking', async () => {
    await using fake = await startFakeOllama({ fail: 'hang' }, { host });
    await using bench = new Bench();
    const model = bench.build(local, fake.url, { inFlightMax: 1 });
    const ending = new Stopper();
    const first = model.ask(requestOf(), ending);
    await fake.call(0);
    const deadlineAt = bench.clock.in(20);
    const waiting = model.ask(requestOf({ deadlineAt }), neverStopped);
    assert.equal(bench.bounds.loads.get('local_runtime')!.waiting, 1);
    bench.clock.pass(20);
    const late = await waiting;
    assert.equal(failedKind(late), 'deadline');
    assert.deepEqual(late.tries, []);
    ending.stop();
    assert.equal(failedKind(await first), 'cancelled');
    assert.equal(fake.calls.length, 1);
  });
});

// The words of DashScope, DeepSeek (both eino#994) and OpenRouter (zed#36094).
for (const [status, message] of [
  [400, 'The tool_choice parameter does not support being set to required or object'],
  [400, 'deepseek-reasoner does not support this tool_choice'],
  [404, "No endpoints found that support the provided 'tool_choice' value."],
] as const) {
  test(`after "${message.slice(0, 40)}…", a hosted runtime forces no call`, async () => {
    const refusal: Step = { status, body: JSON.stringify({ error: { message, code: status } }) };
    const calls = [{ name: 'one', arguments: {} }];
    const isForcing = ({ body }: { body: unknown }): boolean =>
      'tool_choice' in (body as object) &&
      (body as { tool_choice: unknown }).tool_choice !== 'none';
    await using fake = await startFakeOpenai((call) =>
      isForcing(call) ? refusal : { answer: '', calls },
    );
    await using bench = new Bench();
    const model = bench.build({ provider: 'hosted_runtime', modelId: 'gpt-test' }, fake.url);
    const tools = ['one', 'two'].map((name) => ({ name, description: '', parameters: {} }));
    for (const toolChoice of [{ name: 'one' }, 'required'] as const) {
      const outcome = await model.ask(requestOf({ tools, toolChoice }), neverStopped);
      assert.ok(outcome.kind === 'answer' && outcome.calls.length === 1);
    }
    const offered = fake.calls.map(({ body }) => {
      const { tools: sent, tool_choice: choice } = body as { tools: []; tool_choice?: unknown };
      return [sent.length, choice !== undefined];
    });
    const expected = [
      [2, true],
      [1, false],
      [2, false],
    ];
    assert.deepEqual(offered, expected, 'only the named tool, then what it learnt');
    const closing = requestOf({ tools, mayCall: false, lines: [{ role: 'user', text: 'hi' }] });
    await model.ask(closing, neverStopped);
    assert.equal((fake.calls.at(-1)!.body as { tool_choice?: string }).tool_choice, 'none');
  });
}
