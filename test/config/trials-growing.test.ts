/** A trial that streams its reply as events while the model writes it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { TrialEvent } from '../../src/admin/config-trials.ts';
import { assertDescribed, operationsOf } from '../admin/open-api.ts';
import { until } from '../support/waiting.ts';
import {
  hostedModel,
  localModel,
  resultOf,
  start,
  token,
  unused,
  type Document,
  type Started,
} from './trials-program.ts';

type Asking = { readonly more?: object; readonly signal?: AbortSignal };

/** Asks for a trial as a stream of events. */
function ask({ origin }: Started, config: Document, { more, signal }: Asking = {}) {
  const asked = { config: JSON.stringify(config), brain: 'echo', text: 'Where?', ...more };
  return fetch(`${origin}/api/v1/config/try`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify(asked),
    ...(signal && { signal }),
  });
}

/** The events of an answer, one after the other. */
async function* eventsIn(answer: Response): AsyncGenerator<TrialEvent, void> {
  assert.equal(answer.status, 200);
  const texts = answer.body!.pipeThrough(new TextDecoderStream());
  for await (const { event, data } of texts.pipeThrough(new EventSourceParserStream())) {
    const told = JSON.parse(data) as TrialEvent;
    assert.equal(event, told.kind);
    yield told;
  }
}

async function allIn(answer: Response): Promise<readonly TrialEvent[]> {
  return Array.fromAsync(eventsIn(answer));
}

/** The visible reply after each event. */
function seenIn(events: readonly TrialEvent[]): readonly string[] {
  let seen = '';
  return events.flatMap((event) => {
    if (event.kind === 'more') seen += event.text;
    else if (event.kind === 'anew') seen = event.text;
    else return [];
    return [seen];
  });
}

const isStreamed = ({ body }: { readonly body: unknown }): unknown =>
  (body as { readonly stream?: unknown }).stream;

/** Holds an answer back behind its first word. */
function heldBack(answer: string) {
  const gate = Promise.withResolvers<void>();
  const between = (piece: number) => (piece === 0 ? gate.promise : undefined);
  return { step: { answer, between }, goOn: () => gate.resolve() };
}

test('the reply of a trial is told while its model writes it', async () => {
  await using started = await start();
  const { step, goOn } = heldBack('One two three');
  await started.local.script(step);
  const answer = await ask(started, started.draft({ models: [localModel(started)] }));
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  assert.equal(answer.headers.get('x-accel-buffering'), 'no');
  assert.equal(answer.headers.get('cache-control'), 'no-store, no-transform');
  const events = eventsIn(answer);
  const first = await events.next();
  assert.deepEqual(first.value, { kind: 'more', text: 'One' });
  goOn();
  const others = await Array.fromAsync(events);
  assert.equal(seenIn([first.value, ...others]).at(-1), 'One two three');
  const last = others.at(-1)!;
  assert.equal(last.kind, 'result');
  assert.equal(last.kind === 'result' && last.result.decision.text, 'One two three');
  await started.program.saw('"code":"operator_wrote"');
  assert.match(started.program.log(), /"operator_wrote".*"brain":"echo".*"try_brain","status":200/);
});

test('who asks for no events gets one answer, as ever', async () => {
  await using started = await start();
  const draft = started.draft({ models: [localModel(started)] });
  assert.equal(resultOf(await started.tryIt(draft)).decision.text, 'from here');
  assert.deepEqual(started.local.calls.map(isStreamed), [false]);
  // Each event of it must match the description of the API.
  const answer = await ask(started, draft);
  const operation = operationsOf(started.api).find(({ path }) => path === '/api/v1/config/try')!;
  const { status, headers } = answer;
  assertDescribed(started.api, operation, { status, headers, body: await answer.text() });
});

test('another text takes the place of what a model that failed has written', async () => {
  await using started = await start();
  await started.local.script({
    answer: 'Wrong and more',
    between() {
      throw new Error('the connection is cut');
    },
  });
  await started.hosted.script({ answer: 'Right, all of it' });
  const models = [localModel(started), hostedModel(started)];
  const draft = started.draft({ sensitivity: 'public', dispatch: 'sequential', models });
  const events = await allIn(await ask(started, draft));
  assert.deepEqual(events.slice(0, 2), [
    { kind: 'more', text: 'Wrong' },
    { kind: 'anew', text: 'Right,' },
  ]);
  assert.equal(seenIn(events).at(-1), 'Right, all of it');
});

test('no part of a secret is told before all of it has come', async () => {
  await using started = await start();
  await started.local.script({ answer: `It is ${unused}, or a cat` });
  const models = [localModel(started), hostedModel(started, { api_key_env: 'UNUSED_CANARY' })];
  const draft = started.draft({ sensitivity: 'public', dispatch: 'sequential', models });
  const events = await allIn(await ask(started, draft));
  const seen = seenIn(events);
  assert.ok(seen.length > 2, 'in pieces');
  for (const text of seen) assert.doesNotMatch(text, /a canary/);
  assert.equal(seen.at(-1), 'It is [secret], or a cat');
  const last = events.at(-1)!;
  assert.ok(last.kind === 'result' && last.result.decision.text === 'It is [secret], or a cat');
});

test('with a consensus nothing is told before it is reached', async () => {
  await using started = await start();
  const policy = { kind: 'consensus' };
  const models = [localModel(started), hostedModel(started)];
  await started.hosted.script({ answer: 'from here' });
  const draft = started.draft({ sensitivity: 'public', policy, models });
  const kinds = (await allIn(await ask(started, draft))).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['result']);
});

test('a trial that asks nobody is refused by its status, as ever', async () => {
  await using started = await start();
  const answers = [
    await ask(started, started.used, { more: { brain: 'other' } }),
    await ask(started, started.draft({ sensitivity: 'secret' })),
    await ask(started, started.used, { more: { text: ' ' } }),
  ];
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('content-type')]),
    [404, 422, 400].map((status) => [status, 'application/problem+json']),
  );
});

test('a growing trial ends when who asked goes away, and four at most are under way', async () => {
  await using started = await start();
  await started.local.script(heldBack('One two').step);
  const draft = started.draft({ models: [localModel(started)] });
  const leaving = new AbortController();
  const { signal } = leaving;
  const asked = [1, 2, 3, 4].map(async () => eventsIn(await ask(started, draft, { signal })));
  for (const events of await Promise.all(asked)) {
    assert.deepEqual((await events.next()).value, { kind: 'more', text: 'One' });
  }
  const fifth = await ask(started, draft);
  assert.equal(fifth.status, 429);
  leaving.abort();
  for (const { over } of started.local.calls) assert.equal(await over, 'gone');
  await started.local.script({ answer: 'free again' });
  await until('room for another', async () => (await ask(started, draft)).status === 200);
});

test('a growing trial does not keep svc from ending', async () => {
  await using started = await start();
  await started.local.script(heldBack('One two').step);
  const events = eventsIn(await ask(started, started.draft({ models: [localModel(started)] })));
  assert.deepEqual((await events.next()).value, { kind: 'more', text: 'One' });
  assert.equal(await started.program.stop(), 0);
  assert.equal(await started.local.calls[0]!.over, 'gone');
  await assert.rejects(events.next());
});
