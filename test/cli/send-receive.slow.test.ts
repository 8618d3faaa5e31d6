/** `svc send` and `svc receive`: the sender sees the reply, whoever else waits for one. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSend } from '../../src/cli/talk/send.ts';
import { sentences } from '../../src/pipeline/sentences.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere, startCommand } from '../support/in-process.ts';
import {
  freePort,
  post,
  publicly,
  scratch,
  secret,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { patienceMs, until } from '../support/waiting.ts';

const token = 'an-admin-token-of-the-tests';
const replySecret = 'a-reply-secret-of-the-tests';
const signingKey = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

type Stage = {
  readonly file: string;
  readonly folder: string;
  readonly port: number;
  readonly replyPort: number;
};
type Changes = {
  readonly webhook?: object;
  readonly receiverUrl?: string;
  readonly more?: object;
  readonly modelUrl?: string;
};

/** A configuration whose replies go to a free port of this machine. */
async function setStage(folder: string, changes: Changes = {}): Promise<Stage> {
  const [port, adminPort, replyPort] = [await freePort(), await freePort(), await freePort()];
  const { receiverUrl = `http://127.0.0.1:${replyPort}/reply`, modelUrl = 'http://127.0.0.1:9' } =
    changes;
  const document = publicly({ port, adminPort, modelUrl, receiverUrl });
  Object.assign(document.channels[0]!['webhook'] as object, changes.webhook);
  const file = await writeConfig(folder, { ...document, ...changes.more });
  return { file, folder, port, replyPort };
}

const env = { WEBHOOK_SECRET: secret, USER: 'ada' };
/** Its limits suit a slow machine; `startMs` is short where nobody listens. */
const send = (
  file: string,
  args: readonly string[] = ['Hello'],
  more: object = {},
  startMs = patienceMs,
) => {
  const command = createSend({ startMs, deliveryMs: patienceMs });
  return runCommand(['send', ...args, '--config', file], { env: { ...env, ...more }, command });
};

/** Resolves when the story of a message matches. */
async function storyHolds(file: string, id: unknown, what: RegExp): Promise<void> {
  await until(`a story with ${what}`, async () => {
    const { out } = await runCommand(['trace', String(id), '--json', '--config', file]);
    return what.test(out);
  });
}

test('what is said is answered on the screen, by standing in as the receiver', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'Good \u001B[31mday\n' });
  const { file, port } = await setStage(folder.path, { modelUrl: model.url });
  await using service = await serveHere(file, port);
  assert.deepEqual(await send(file), { code: 0, out: 'Good [31mday\n', err: '' });
  // Several words need no quotes, and one sender's messages are one conversation.
  assert.equal((await send(file, ['and', 'again', '--as', 'bob'])).code, 0);
  assert.match(JSON.stringify(model.calls.at(-1)), /and again/);
  assert.equal(await service.stop(), 0);
});

test('a service that was started just before is waited for', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'Good day' });
  const { file, port } = await setStage(folder.path, { modelUrl: model.url });
  const sent = send(file);
  await using service = await serveHere(file, port);
  assert.deepEqual(await sent, { code: 0, out: 'Good day\n', err: '' });
  assert.equal(await service.stop(), 0);
});

test('only the answer to its own message is taken; what others wait for is kept', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'yes' });
  const storage = { path: join(folder.path, 'svc.db') };
  const { file, port, replyPort } = await setStage(folder.path, {
    modelUrl: model.url,
    more: { storage },
  });
  await using service = await serveHere(file, port);
  const other = await post(service.url, { sender_id: 'carl', text: 'for another' });
  assert.equal(other.status, 200);
  const id = other.body['message_id'];
  await storyHolds(file, id, /"connect_failed"/);
  const refused = Promise.withResolvers<void>();
  await model.script({ answer: 'yes', after: refused.promise });
  const asked = send(file);
  // The other reply is tried again meanwhile, and reaches the listener of this one.
  await storyHolds(file, id, /"status": 503/);
  refused.resolve();
  assert.equal((await asked).out, 'yes\n');
  await using receiver = startCommand(['receive', '--config', file, '--json'], { env });
  const [line] = await receiver.until(/^.*"carl".*$/m);
  assert.equal((JSON.parse(line) as Record<string, unknown>)['in_reply_to'], id);
  assert.doesNotMatch(receiver.out(), /ada/);
  assert.match(receiver.err(), new RegExp(`Replies to 127\\.0\\.0\\.1:${replyPort} are printed`));
  assert.equal(await receiver.stop(), 0);
});

test('an operator sees the answer over the admin server, wherever it goes', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'seen' });
  await using elsewhere = await startReceiver();
  const more = {
    storage: { path: join(folder.path, 'svc.db') },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
  const { file, port } = await setStage(folder.path, {
    modelUrl: model.url,
    receiverUrl: elsewhere.url,
    more,
  });
  await using _service = await serveHere(file, port, { ADMIN_TOKEN: token });
  assert.deepEqual(await send(file, ['Hello'], { ADMIN_TOKEN: token }), {
    code: 0,
    out: 'seen\n',
    err: '',
  });
  const [received] = await elsewhere.waitFor(1);
  assert.equal(received!.body['text'], 'seen');
  for (const [given, why] of [
    [{}, /ADMIN_TOKEN.* is not set here/],
    [{ ADMIN_TOKEN: 'another-token-than-that' }, /does not accept the value of ADMIN_TOKEN/],
  ] as const) {
    const { code, out, err } = await send(file, ['Hello'], given);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /^svc has the message \(\w+\)\. Its answer cannot be shown: it goes to http/);
    assert.match(err, /another program listens/);
    assert.match(err, why);
  }
});

test('a mapping, a bearer and a signature are gone by', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'signed' });
  const { file, port, replyPort } = await setStage(folder.path, {
    modelUrl: model.url,
    webhook: {
      outbound_token_env: 'REPLY_SECRET',
      outbound_signing_env: 'REPLY_KEY',
      mapping: { sender_id: 'from', text: 'said', conversation_id: 'thread' },
    },
    more: { storage: { path: join(folder.path, 'svc.db') } },
  });
  const secrets = { REPLY_SECRET: replySecret, REPLY_KEY: signingKey };
  await using _service = await serveHere(file, port, secrets);
  assert.deepEqual(await send(file, ['Hi'], secrets), { code: 0, out: 'signed\n', err: '' });
  const { err } = await send(file, ['Hi', '--as', 'bob'], { REPLY_SECRET: replySecret });
  assert.match(err, /svc has the message .*: REPLY_KEY, by which a reply of svc is known, is not/);

  await using receiver = startCommand(['receive', '--config', file], {
    env: { ...env, ...secrets },
  });
  await receiver.until(/Ctrl-C ends it/, 'err');
  const url = `http://127.0.0.1:${replyPort}/reply`;
  const forged = JSON.stringify({ thread: 'x', said: 'forged', from: 'y', message_id: 'z' });
  for (const authorization of ['Bearer wrong', `Bearer ${replySecret}`]) {
    const headers = {
      authorization,
      'webhook-id': 'z',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': 'v1,AAAA',
    };
    assert.equal((await fetch(url, { method: 'POST', headers, body: forged })).status, 401);
  }
  await receiver.until(/^bob: signed$/m);
  assert.doesNotMatch(receiver.out(), /forged/);
});

test('each thing that can be missing is named by what to do', async () => {
  await using folder = await scratch();
  const { file } = await setStage(folder.path);
  const nobody = await send(file, ['Hello'], {}, 1);
  assert.equal(nobody.code, 1);
  assert.match(nobody.err, /^No running svc answers at 127\.0\.0\.1:\d+, .*: svc serve\n$/);
  const unset = await send(file, ['Hello'], { WEBHOOK_SECRET: undefined });
  assert.equal(unset.code, 78);
  assert.match(unset.err, /WEBHOOK_SECRET/);
  assert.match((await send(file, [])).err, /Say what: svc send "Hello"/);
  assert.equal((await send(file, ['Hi', '--wait', '0'])).code, 2);

  await using model = await startFakeOllama();
  await using other = await scratch();
  const up = await setStage(other.path, { modelUrl: model.url });
  await using _service = await serveHere(up.file, up.port);
  const wrong = await send(up.file, ['Hello'], { WEBHOOK_SECRET: 'not-the-secret-of-that' });
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /does not accept the value of WEBHOOK_SECRET: set it here to what/);

  const telegram = {
    channels: [{ type: 'messenger_a', mode: 'polling', token_env: 'T' }],
  };
  const routes = [{ channel: 'messenger_a', brain: 'echo' }];
  const none = await setStage(folder.path, { more: { ...telegram, routes } });
  assert.match((await send(none.file)).err, /has no webhook channel/);
  const where = { port: 1, adminPort: 0, modelUrl: '', receiverUrl: 'http://127.0.0.1:9/' };
  const both = [...telegram.channels, ...webhookConfig(where).channels];
  const unrouted = await setStage(folder.path, { more: { channels: both, routes } });
  const { code, err } = await send(unrouted.file);
  assert.deepEqual([code, /No route .* names the webhook/.test(err)], [78, true], err);
});

test('the wait for an answer has an end, and Ctrl-C is one', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'never', after: new Promise(() => {}) });
  const { file, port } = await setStage(folder.path, { modelUrl: model.url });
  await using _service = await serveHere(file, port);
  const late = await send(file, ['Hello', '--wait', '1']);
  assert.equal(late.code, 1);
  assert.match(
    late.err,
    /^No answer came within 1 s\. svc still works on it\. See svc trace \w+\n$/,
  );
  await using asking = startCommand(['send', 'Hello', '--as', 'bob', '--config', file], { env });
  await model.call(1);
  assert.equal(await asking.stop(), 1);
  assert.match(asking.err(), /^Given up\. svc has the message \(\w+\) and goes on with it\.\n$/);
});

test('that no model answered is told beside the sentence of svc', async () => {
  await using folder = await scratch();
  const { file, port } = await setStage(folder.path);
  await using _service = await serveHere(file, port);
  const { code, out, err } = await send(file);
  assert.deepEqual([code, out], [0, `${sentences.busy}\n`]);
  assert.match(err, /^No model answered \(busy\): .* See svc trace \w+\n$/);
});
