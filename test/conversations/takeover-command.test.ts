/** Taking a conversation over at a terminal: `svc conversations hold`, `answer`, `release`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminToken } from '../fake/admin-api.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere, startCommand } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const env = { TEST_ADMIN: adminToken };

type Held = { readonly untilAt: number; readonly waiting: readonly { readonly id: string }[] };

test('a conversation is held, answered by an argument and by a pipe, and given back', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'by the model' });
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const more = { storage: { path: 'svc.db' }, admin: { token_env: 'TEST_ADMIN' } };
  const file = await writeConfig(folder.path, { ...webhookConfig(at), ...more });
  const where = { cwd: folder.path, env };
  const svc = (...args: string[]) => runCommand(['conversations', ...args], where);
  const stopped = await svc('hold', 'cAAAA');
  assert.equal(stopped.code, 1);
  assert.match(stopped.err, /^No running svc answers at /);

  await using program = await serveHere(file, port, env);
  const say = async (text: string): Promise<string> => {
    const said = { sender_id: 'ada', conversation_id: 'lobby', text };
    return String((await post(program.url, said)).body['message_id']);
  };
  await say('hello');
  await receiver.waitFor(1);
  const id = /, id (c[\w-]+)\n/.exec((await svc('show', 'webhook', 'lobby')).out)![1]!;
  const none = await svc('answer', id, 'too early');
  assert.deepEqual([none.code, none.out], [1, '']);
  assert.match(none.err, /^The running svc refused: The conversation is not held: take it over/);
  const first = await svc('hold', id);
  assert.match(first.out, /^held until 20\d\d-.*; nothing waits\n$/);

  const [one, two, three] = [await say('my printer burns'), await say('hello?'), await say('so?')];
  const held = JSON.parse((await svc('hold', id, '--json')).out) as Held;
  assert.deepEqual(
    held.waiting.map((message) => message.id),
    [one, two, three],
  );
  const shown = (await svc('hold', id)).out;
  assert.match(shown, /; 3 messages wait\n/);
  assert.ok(shown.includes(`ada, message ${one}\n  my printer burns\n`), shown);

  await using typed = startCommand(['conversations', 'answer', id, '--message', two], where);
  typed.input.end('Pull its plug.\nI come.\n');
  assert.equal(await typed.ended, 0, typed.err());
  assert.match(typed.out(), /^2 messages are answered; held until /);
  const again = await svc('answer', id, 'x', '--message', '01kaabcdefghjkmnpqrst0');
  assert.match(again.err, /refused: The conversation has no such message/);
  const last = await svc('answer', id, 'It', 'is', 'out.', '--json');
  assert.deepEqual((JSON.parse(last.out) as { messages: unknown }).messages, [three]);

  assert.deepEqual(await svc('release', id), {
    code: 0,
    out: 'given back: its brain goes on with what waits\n',
    err: '',
  });
  await say('thanks');
  const replies = await receiver.waitFor(4);
  assert.deepEqual(
    replies.map(({ body }) => body['text']),
    ['by the model', 'Pull its plug.\nI come.', 'It is out.', 'by the model'],
  );
  const turns = (await svc('show', 'webhook', 'lobby')).out;
  assert.ok(turns.includes(`  my printer burns\nanswered by hand, together with ${two}\n`), turns);
  assert.ok(turns.includes('  so?\nreply by hand\n  It is out.\n'), turns);
});

test('what is missing is said', async () => {
  for (const [args, words] of [
    ['hold', /Say which conversation, by svc's own id/],
    ['release', /Say which conversation/],
    ['answer', /Say which conversation/],
    [`answer c1 ${'x'.repeat(32_001)}`, /32000 characters are the most/],
  ] as const) {
    const { code, err } = await runCommand(['conversations', ...args.split(' ')]);
    assert.equal(code, 2);
    assert.match(err, words);
  }
  await using nothing = startCommand(['conversations', 'answer', 'c1']);
  nothing.input.end('\n');
  assert.equal(await nothing.ended, 2);
  assert.match(nothing.err(), /Say what the answer is, or pipe it in/);
});
