import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { createPracticeModel, practiceAnswer } from './practice-model.ts';

suite('the practice model', () => {
  const server = createPracticeModel();
  let origin = '';
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => void server.close());

  function line(role: string, content: string): { role: string; content: string } {
    return { role, content };
  }

  function chat(body: unknown): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(`${origin}/api/chat`, { method: 'POST', body: text });
  }

  test('it lists itself and tells its version', async () => {
    const tags = (await (await fetch(`${origin}/api/tags`)).json()) as {
      models: { name: string }[];
    };
    assert.deepEqual(
      tags.models.map((model) => model.name),
      ['practice:latest'],
    );
    const version = (await (await fetch(`${origin}/api/version`)).json()) as { version: string };
    assert.match(version.version, /practice/);
  });

  test('it answers a chat in one piece and says that it is no language model', async () => {
    const messages = [{ role: 'user', content: 'Hello there' }];
    const response = await chat({ model: 'practice', messages, stream: false });
    const answer = (await response.json()) as { message: Record<string, string>; done: boolean };
    assert.equal(answer.done, true);
    assert.equal(answer.message['role'], 'assistant');
    assert.match(answer.message['content']!, /^Hello! I read: “Hello there”.*no language model/);
  });

  test('it streams when it is not told otherwise', async () => {
    const response = await chat({ model: 'practice', messages: [{ role: 'user', content: 'x' }] });
    const lines = (await response.text()).trim().split('\n');
    const parts = lines.map((part) => JSON.parse(part) as { done: boolean });
    assert.deepEqual(
      parts.map((part) => part.done),
      [false, true],
    );
  });

  test('it counts the earlier messages that it was given', () => {
    const history = [line('user', 'I am Ada'), line('assistant', 'a'), line('user', 'second')];
    const answer = practiceAnswer([...history, line('assistant', 'b'), line('user', 'third')]);
    assert.match(
      answer,
      /“third”\. With it came 2 earlier messages of yours, the first: “I am Ada”/,
    );
    assert.match(practiceAnswer(history), /one earlier message of yours/);
  });

  test('it gives the same answer to the same question', () => {
    const lines = [{ role: 'user', content: 'again' }];
    assert.equal(practiceAnswer(lines), practiceAnswer(lines));
  });

  test('a chat without messages loads the model and says nothing', async () => {
    const response = await chat({ model: 'practice', messages: [], stream: false });
    const answer = (await response.json()) as { message: { content: string }; done_reason: string };
    assert.equal(answer.message.content, '');
    assert.equal(answer.done_reason, 'load');
  });

  test("another model, another path and a broken body get the runtime's errors", async () => {
    const other = await chat({ model: 'llama3', messages: [], stream: false });
    assert.deepEqual(
      [other.status, await other.json()],
      [404, { error: 'model "llama3" not found' }],
    );
    assert.equal((await chat('{')).status, 400);
    assert.equal((await chat({ model: 'practice', messages: [1] })).status, 400);
    assert.equal((await fetch(`${origin}/api/chat`)).status, 405);
    assert.equal((await fetch(`${origin}/api/nothing`)).status, 404);
  });
});
