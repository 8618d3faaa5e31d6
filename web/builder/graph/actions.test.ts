/** Actions of the graph on the text of the configuration. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import * as actions from './actions.ts';

const file = join(import.meta.dirname, '../../../examples/private.json');
const start = readFileSync(file, 'utf8');
const written = (text: string) => ({ text, document: JSON.parse(text) as JsonObject });
const errorsOf = (text: string): readonly string[] =>
  validateText(text)
    .problems.filter(({ severity }) => severity === 'error')
    .map(({ code }) => code);

function after(...steps: ((now: ReturnType<typeof written>) => string | null)[]) {
  let text = start;
  for (const step of steps) {
    const next = step(written(text));
    assert.ok(next !== null, step.toString());
    text = next;
  }
  return { text, document: JSON.parse(text) };
}

test('what is added lacks names alone, and the rest of the text stays', () => {
  const { text } = after(
    (now) => actions.addTo(now, ['brains']),
    (now) => actions.addChannel(now, 'messenger_a'),
    (now) => actions.route(now, 'messenger_a', 'brain'),
    (now) => actions.addTo(now, ['brains', 1, 'models']),
  );
  assert.deepEqual([...new Set(errorsOf(text))], ['required']);
  const [old, now] = [start.split('\n'), new Set(text.split('\n'))];
  const gone = old.filter((line) => !now.has(line)).map((line) => line.trim());
  assert.deepEqual(gone, ['"routes": [{ "channel": "webhook", "brain": "assistant" }],']);
});

test('every other message has one route, and another brain takes the place of the first', () => {
  const { document } = after(
    (now) => actions.addTo(now, ['brains']),
    (now) => actions.route(now, 'webhook', 'brain'),
  );
  assert.deepEqual(document.routes, [{ channel: 'webhook', brain: 'brain' }]);
  assert.deepEqual(after((now) => actions.unroute(now, 'webhook')).document.routes, []);
});

test('a route with conditions stands before the one that takes every other message', () => {
  const { document } = after(
    (now) => actions.addTo(now, ['brains']),
    (now) => actions.addRoute(now, 'webhook'),
    (now) => actions.route(now, 'webhook', 'brain'),
  );
  assert.deepEqual(document.routes, [
    { channel: 'webhook', brain: 'assistant', when: { senders: [] } },
    { channel: 'webhook', brain: 'brain' },
  ]);
  const { routes } = after(
    (now) => actions.addRoute(now, 'webhook'),
    (now) => actions.unroute(now, 'webhook'),
  ).document;
  assert.deepEqual(routes, [{ channel: 'webhook', brain: 'assistant', when: { senders: [] } }]);
});

test('another channel of a type has a name, a variable and a path of its own', () => {
  const { document } = after(
    (now) => actions.addChannel(now, 'webhook'),
    (now) => actions.addChannel(now, 'messenger_a'),
    (now) => actions.addChannel(now, 'messenger_a'),
    (now) => actions.addChannel(now, 'messenger_a'),
    (now) => actions.route(now, 'telegram-3', 'assistant'),
  );
  const facts = document.channels.map((one: Record<string, unknown>) => [one.name, one.token_env]);
  assert.deepEqual(facts, [
    [undefined, 'WEBHOOK_SECRET'],
    ['webhook-2', 'WEBHOOK_SECRET_2'],
    [undefined, 'TELEGRAM_TOKEN'],
    ['telegram-2', 'TELEGRAM_TOKEN_2'],
    ['telegram-3', 'TELEGRAM_TOKEN_3'],
  ]);
  assert.match(document.channels[1].webhook.path, /\/webhook-2$/);
  const text = JSON.stringify(document);
  const left = JSON.parse(actions.removeFrom({ text, document }, ['channels', 4])!);
  assert.deepEqual(left.routes, [{ channel: 'webhook', brain: 'assistant' }]);
});

test('with a brain or a channel its routes go', () => {
  for (const list of ['brains', 'channels']) {
    const { document } = after((now) => actions.removeFrom(now, [list, 0]));
    assert.deepEqual([document[list], document.routes], [[], []]);
  }
  const model = after((now) => actions.removeFrom(now, ['brains', 0, 'models', 1]));
  assert.equal(model.document.brains[0].models.length, 1);
  assert.equal(model.document.routes.length, 1);
});

test('a model is shared once, with its settings', () => {
  const share = (now: ReturnType<typeof written>): string | null =>
    actions.shareModel(now, ['brains', 0, 'models', 1], ['brains', 1]);
  const { text, document } = after((now) => actions.addTo(now, ['brains']), share);
  assert.deepEqual(document.brains[1].models[1], document.brains[0].models[1]);
  assert.equal(share(written(text)), null);
});

test('a list that is missing is made, and names that are taken are not given again', () => {
  const made = actions.addTo(written('{}'), ['brains']);
  assert.deepEqual(JSON.parse(made!).brains.length, 1);
  const { document } = after(
    (now) => actions.addTo(now, ['brains']),
    (now) => actions.addTo(now, ['brains']),
  );
  assert.deepEqual(
    document.brains.map(({ name }: { name: string }) => name),
    ['assistant', 'brain', 'brain-2'],
  );
});

test('a removed brain is no longer among those that API clients can use', () => {
  const document = {
    brains: [{ name: 'one' }, { name: 'two' }],
    completions: { token_env: 'T', brains: ['two', 'one'] },
  };
  const text = actions.removeFrom({ text: JSON.stringify(document), document }, ['brains', 1])!;
  assert.deepEqual(JSON.parse(text), {
    brains: [{ name: 'one' }],
    completions: { token_env: 'T', brains: ['one'] },
  });
});
