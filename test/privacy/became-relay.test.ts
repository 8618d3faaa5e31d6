/** At most one private call reaches a local runtime that has become a relay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, failedKind, neverStopped, requestOf } from '../contract/model.ts';
import type { FakeModel, ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { Stopper } from '../../src/lib/stop.ts';
import { until } from '../support/waiting.ts';

const kind = { provider: 'local_runtime', modelId: 'llama3' } as const;
const secretly = (more: Parameters<typeof requestOf>[0] = {}) =>
  requestOf({ sensitivity: 'private', ...more });
/** The fields of a cloud model: https://github.com/ollama/ollama/blob/main/docs/api.md */
const vendor = { remote_model: 'llama3', remote_host: 'https://vendor.example' };
const minuteMs = 60_000;

/** Answers a probe of one model with this step; the list of models stays. */
const shows = (fake: FakeModel, step: Step) =>
  fake.script((call: ModelCall) => (call.path === '/api/show' ? step : listed), 'looks');
const listed = { status: 200, body: JSON.stringify({ models: [{ name: 'llama3:latest' }] }) };
const told = (more: object) => ({ status: 200, body: JSON.stringify({ details: {}, ...more }) });

test('after a minute one private call goes first, and the others see what it shows', async () => {
  await using fake = await startFakeOllama({ answer: 'here' });
  await using bench = new Bench();
  const model = bench.build(kind, fake.url);
  assert.equal((await model.ask(secretly(), neverStopped)).kind, 'answer');
  bench.clock.pass(minuteMs);
  const open = Promise.withResolvers<void>();
  await fake.script({ answer: 'far', more: vendor, after: open.promise });
  const asked = [0, 1, 2, 3].map(() => model.ask(secretly(), neverStopped));
  await fake.call(1);
  const openly = await fake
    .script({ answer: 'open' })
    .then(() => model.ask(requestOf(), neverStopped));
  assert.equal(openly.kind, 'answer', 'what is public waits for nobody');
  open.resolve();
  for (const outcome of await Promise.all(asked)) assert.equal(failedKind(outcome), 'left_machine');
  assert.equal(fake.calls.length, 3, 'the first answer, one private call, one public call');
});

test('private calls go at once within a minute of a private answer', async () => {
  await using fake = await startFakeOllama({ answer: 'here' });
  await using bench = new Bench();
  const model = bench.build(kind, fake.url);
  await model.ask(secretly(), neverStopped);
  bench.clock.pass(minuteMs - 1);
  const open = Promise.withResolvers<void>();
  await fake.script({ answer: 'here', after: open.promise });
  const asked = [0, 1, 2].map(() => model.ask(secretly(), neverStopped));
  await fake.call(3);
  open.resolve();
  for (const outcome of await Promise.all(asked)) assert.equal(outcome.kind, 'answer');
});

test('once the first is answered from here the others go together', async () => {
  await using fake = await startFakeOllama({ answer: 'here' });
  await using bench = new Bench();
  const model = bench.build(kind, fake.url);
  const open = Promise.withResolvers<void>();
  await fake.script((_call, before) => ({
    answer: 'here',
    ...(before > 0 && { after: open.promise }),
  }));
  const asked = [0, 1, 2].map(() => model.ask(secretly(), neverStopped));
  await fake.call(2);
  open.resolve();
  for (const outcome of await Promise.all(asked)) assert.equal(outcome.kind, 'answer');
  assert.equal(fake.looks.filter(({ path }) => path === '/api/show').length, 1);
});

test('a first call that fails or is stopped lets the next one go first', async () => {
  await using fake = await startFakeOllama((_call, before) =>
    before === 0 ? { fail: 'hang' } : { answer: 'here' },
  );
  await using bench = new Bench();
  const model = bench.build(kind, fake.url);
  const stopper = new Stopper();
  const first = model.ask(secretly(), stopper);
  await fake.call(0);
  const second = model.ask(secretly(), neverStopped);
  stopper.stop();
  assert.equal(failedKind(await first), 'cancelled');
  assert.equal((await second).kind, 'answer');
});

test('a first call that takes long holds up the others for a minute', async () => {
  await using fake = await startFakeOllama((_call, before) =>
    before === 0 ? { fail: 'hang' } : { answer: 'here' },
  );
  await using bench = new Bench();
  const model = bench.build(kind, fake.url, { timeoutMs: 3 * minuteMs });
  const stopper = new Stopper();
  const first = model.ask(secretly(), stopper);
  await fake.call(0);
  const others = [0, 1].map(() => model.ask(secretly(), neverStopped));
  await model.check('private', bench.clock.in(minuteMs));
  bench.clock.pass(minuteMs - 1);
  await model.check('private', bench.clock.in(minuteMs));
  assert.equal(fake.calls.length, 1);
  bench.clock.pass(1);
  for (const outcome of await Promise.all(others)) assert.equal(outcome.kind, 'answer');
  stopper.stop();
  assert.equal(failedKind(await first), 'cancelled');
});

test('the first part of an answer from here lets the others go', async () => {
  const open = Promise.withResolvers<void>();
  await using fake = await startFakeOllama((_call, before) =>
    before === 0 ? { answer: 'here it is', between: () => open.promise } : { answer: 'here' },
  );
  await using bench = new Bench();
  const model = bench.build(kind, fake.url);
  const first = model.ask(secretly({ onText() {} }), neverStopped);
  await fake.call(0);
  const other = await model.ask(secretly(), neverStopped);
  assert.equal(other.kind, 'answer');
  open.resolve();
  assert.equal((await first).kind, 'answer');
});

test('what a vendor writes to a private text is not shown while it grows', async () => {
  const line = (content: string, done: boolean): string =>
    `${JSON.stringify({ ...vendor, message: { role: 'assistant', content }, done })}\n`;
  const body = line('far', false) + line(' away', true);
  await using fake = await startFakeOllama({ status: 200, body });
  await using bench = new Bench();
  const model = bench.build(kind, fake.url);
  const seen: string[] = [];
  const asked = secretly({ onText: (whole) => seen.push(whole) });
  assert.equal(failedKind(await model.ask(asked, neverStopped)), 'left_machine');
  assert.deepEqual(seen, []);
});

test('what the runtime says of the model is heard before anything private is sent', async () => {
  for (const [step, expected] of [
    [told(vendor), 'left_machine'],
    [told({ remote_host: null }), 'left_machine'],
    [{ status: 500, body: '{}' }, 'server_error'],
    [{ status: 200, body: 'no JSON' }, 'malformed_answer'],
    [{ status: 401, body: '{}' }, 'unauthorized'],
    [{ status: 404, body: '{}' }, null],
    [{ status: 405, body: '' }, null],
    [told({}), null],
  ] as const) {
    await using fake = await startFakeOllama({ answer: 'here' });
    await shows(fake, step);
    await using bench = new Bench();
    const outcome = await bench.build(kind, fake.url).ask(secretly(), neverStopped);
    const what = JSON.stringify(step);
    assert.equal(outcome.kind === 'answer' ? null : failedKind(outcome), expected, what);
    assert.equal(fake.calls.length, expected === null ? 1 : 0, what);
  }
});

test('a look that hangs ends with the time of the model, and nothing is sent', async () => {
  await using fake = await startFakeOllama({ answer: 'here' });
  await shows(fake, { fail: 'hang' });
  await using bench = new Bench();
  const asked = bench.build(kind, fake.url).ask(secretly(), neverStopped);
  await until('it looks', () => fake.looks.some(({ path }) => path === '/api/show'));
  bench.clock.pass(5_000);
  assert.equal(failedKind(await asked), 'timeout');
  assert.equal(fake.calls.length, 0);
});
