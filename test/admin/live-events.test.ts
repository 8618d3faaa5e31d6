/** The live events and the status of the running program, for other clients and for svc's own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { EventSource } from 'eventsource';
import type { ConfigNames, Status } from '../../src/admin/admin.ts';
import { liveEventSchema } from '../../src/admin/schemas/live-event.ts';
import { read } from '../../src/admin/schemas/schema.ts';
import { AdminClient } from '../../src/cli/frame/admin-client.ts';
import type { Dropped, LiveEvent, LiveEventKind } from '../../src/domain/live-event.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere, startCommand } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { runSvc } from '../support/run-svc.ts';
import { patienceMs, until } from '../support/waiting.ts';

const canaries = {
  sender_id: 'canary-of-the-sender',
  sender_name: 'canary-of-the-name',
  conversation_id: 'canary-of-the-conversation',
  text: 'canary-of-the-text',
};
const answer = 'canary-of-the-answer';
const token = 'canary-of-the-administrators-token';
/** A receiver's refusal, after which the reply waits for longer than any test takes. */
const later = { status: 503, headers: { 'retry-after': '3600' } } as const;

async function stage(t: TestContext, more: Record<string, unknown> = {}) {
  const folder = await scratch();
  const model = await startFakeOllama({ answer });
  const receiver = await startReceiver();
  t.after(async () => {
    for (const one of [model, receiver, folder]) await one[Symbol.asyncDispose]();
  });
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const file = await writeConfig(folder.path, { ...webhookConfig(where), ...more });
  const origin = `http://127.0.0.1:${adminPort}`;
  return {
    folder: folder.path,
    file,
    receiver,
    origin,
    start: () => serveHere(file, port, { ADMIN_TOKEN: token }),
    status: async () => (await (await fetch(`${origin}/api/v1/status`)).json()) as Status,
    svc: (...args: string[]) => startCommand(args, { cwd: folder.path }),
  };
}

const kinds = liveEventSchema.oneOf.map(({ properties }) => properties.kind.enum[0]);

/** All events that another client receives, and a wait for the next of a kind. */
async function hear(t: TestContext, origin: string) {
  const source = new EventSource(`${origin}/api/v1/events`);
  t.after(() => source.close());
  const liveEvents: (LiveEvent | Dropped)[] = [];
  const texts: string[] = [];
  for (const kind of kinds) {
    source.addEventListener(kind, ({ data }: { data: string }) => {
      texts.push(data);
      liveEvents.push(read(liveEventSchema, JSON.parse(data) as unknown));
    });
  }
  await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
  const came = (wanted: LiveEventKind, count = 1): Promise<void> =>
    until(`${count} ${wanted}`, () => {
      return liveEvents.filter(({ kind }) => kind === wanted).length >= count;
    });
  return { frames: liveEvents, texts, until: came };
}

test('a message is heard of from its acceptance on, and nothing that was said', async (t) => {
  const on = await stage(t, { admin: { token_env: 'ADMIN_TOKEN' } });
  on.receiver.script.push(later);
  await using program = await on.start();
  const heard = await hear(t, on.origin);
  const accepted = await post(program.url, canaries);
  await heard.until('delivery_failed');
  await post(program.url, { ...canaries, text: '' });
  await heard.until('message_refused');
  const path = `${on.origin}/api/v1/conversations/webhook/${canaries.conversation_id}`;
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await fetch(path, { method: 'DELETE', headers })).status, 200);
  await heard.until('operator_wrote');
  const id = String(accepted.body['message_id']);
  const of = <Kind extends LiveEventKind>(kind: Kind) =>
    heard.frames.find(
      (liveEvent): liveEvent is Extract<LiveEvent, { kind: Kind }> => liveEvent.kind === kind,
    )!;
  assert.deepEqual([of('message_accepted').id, of('message_accepted').duplicate], [id, false]);
  assert.deepEqual([of('turn_started').id, of('turn_started').brain], [id, 'echo']);
  assert.equal(of('model_answered').model, 'local_runtime/llama3.2');
  assert.equal(of('turn_finished').outcome, 'reply');
  const failed = of('delivery_failed');
  assert.deepEqual([failed.message, failed.failure, failed.status], [id, 'overloaded', 503]);
  assert.ok(Number.isInteger(failed.nextAt));
  for (const { at } of heard.frames) assert.ok(Math.abs(at - Date.now()) < 2 * patienceMs);
  const all = heard.texts.join('\n');
  for (const canary of [...Object.values(canaries), answer, token, on.folder]) {
    assert.ok(!all.includes(canary), `${canary} is told: ${all}`);
  }
});

test('a stop ends the streams, and another life of svc says that it is one', async (t) => {
  const on = await stage(t);
  await using first = await on.start();
  const heard = await hear(t, on.origin);
  await post(first.url, canaries);
  await heard.until('reply_delivered');
  assert.equal(await first.stop(), 0);
  await using second = await on.start();
  await heard.until('dropped');
  const dropped = heard.frames.find(({ kind }) => kind === 'dropped');
  assert.ok(dropped?.kind === 'dropped' && dropped.count === null);
  await post(second.url, canaries);
  await heard.until('message_accepted', 2);
});

test('the status tells of now what the service is made of and how it stands', async (t) => {
  const on = await stage(t);
  await using program = await on.start();
  const before = await on.status();
  assert.deepEqual([before.access, before.perMinute], ['read_only', 0]);
  assert.deepEqual(
    before.providers.map(({ state, since }) => [state, since]),
    [['unknown', null]],
  );
  on.receiver.script.push(later);
  const heard = await hear(t, on.origin);
  await post(program.url, canaries);
  await heard.until('delivery_failed');
  const status = await on.status();
  assert.equal(status.perMinute, 1);
  assert.ok(
    status.plan.usedAt >= status.startedAt - patienceMs && status.plan.usedAt <= Date.now(),
  );
  const [backlog] = status.backlog;
  assert.equal(backlog?.outbox, 1);
  const finished = heard.frames.find(({ kind }) => kind === 'turn_finished')!;
  assert.ok(Math.abs(backlog.oldestAt! - finished.at) < patienceMs);
  assert.deepEqual(
    status.providers.map(({ state, answers }) => [state, answers]),
    [['up', 1]],
  );
  assert.deepEqual(
    status.models.map(({ model, answers }) => [model, answers]),
    [['local_runtime/llama3.2', 1]],
  );
  const ask = async (path: string) => (await fetch(`${on.origin}/api/v1/${path}`)).json();
  assert.deepEqual(await ask('channels'), { rows: status.channels });
  assert.deepEqual(await ask('brains'), { rows: status.brains });
  const routes = [{ channel: 'webhook', brain: 'echo', running: true, number: 1, when: null }];
  assert.deepEqual(await ask('routes'), { rows: routes });
  const names: ConfigNames = {
    revision: status.revision,
    usedAt: status.plan.usedAt,
    channels: ['webhook'],
    brains: ['echo'],
    routes: [{ channel: 'webhook', brain: 'echo' }],
    storage: 'memory',
    session: false,
    secrets: ['WEBHOOK_SECRET'],
  };
  assert.deepEqual(await ask('config/names'), names);
});

test('svc status tells a person how it is, and 1 when nobody answers', async (t) => {
  const on = await stage(t);
  const alone = on.svc('status');
  assert.equal(await alone.ended, 1);
  assert.match(alone.err(), /^No running svc answers at 127\.0\.0\.1:\d+, its admin address/);
  await using program = await on.start();
  const heard = await hear(t, on.origin);
  await post(program.url, canaries);
  await heard.until('reply_delivered');
  const page = on.svc('status');
  assert.equal(await page.ended, 0, page.err());
  assert.match(page.out(), /^✓ svc \S+: works; up for .*, everything in memory$/m);
  assert.match(page.out(), /^✓ configuration: \w+, in use since 20\S+ \S+; read-only$/m);
  assert.match(page.out(), /^✓ webhook → echo: up for /m);
  assert.match(page.out(), /^✓ Ollama: up for .*; 1 answer, .*, 0 failures since the start$/m);
  assert.match(page.out(), /^✓ backlog: nothing waits$/m);
  assert.match(page.out(), /^✓ messages: 1 in the last minute, 1 since the start \(0 refused\)/m);
  assert.match(page.out(), /^✓ dead letters: none$/m);
  const json = on.svc('status', '--json');
  assert.equal(await json.ended, 0);
  assert.equal((JSON.parse(json.out()) as Status).counts.accepted, 1);
});

test('svc tail follows, comes back after a restart, and ends well at Ctrl-C', async (t) => {
  const on = await stage(t);
  const alone = on.svc('tail');
  assert.equal(await alone.ended, 1);
  assert.match(alone.err(), /^No running svc answers/);
  await using first = await on.start();
  await using lines = on.svc('tail');
  // One of them is a separate process, which a signal ends.
  const words = ['tail', '--json', '--kind', 'message_accepted,turn_finished'];
  const json = runSvc(words, { cwd: on.folder });
  t.after(() => json.child.kill('SIGKILL'));
  // Their first output proves that they follow; it may be any message.
  const followed = (): boolean =>
    [lines, json].every((run) => run.out().includes('message_accepted'));
  let sent = 0;
  await until('both follow', async () => {
    await post(first.url, canaries);
    await on.receiver.waitFor(++sent);
    return followed();
  });
  await lines.until(/^\d\d:\d\d:\d\d reply_delivered +channel=webhook id=\w+ message=\w+ /m);
  await lines.until(/ turn_finished +channel=webhook .* model="llama3\.2 \(Ollama\)" ms=/);
  await json.until(/"turn_finished".*"model":"local_runtime\/llama3\.2"/);
  assert.equal(await first.stop(), 0);
  await lines.until(/The connection is lost; coming back/, 'err');
  await using second = await on.start();
  await lines.until(/Back again/, 'err');
  await lines.until(/What happened before may have been missed: svc was started anew/, 'err');
  await json.until(/"kind":"dropped"/);
  await post(second.url, canaries);
  await lines.until(/plan_used[\s\S]*reply_delivered/);
  await json.until(/"kind":"dropped"[\s\S]*"message_accepted"/);
  assert.equal(await lines.stop(), 0);
  json.child.kill('SIGINT');
  assert.equal((await json.ended).code, 0);
  const told = json.out().trim().split('\n');
  const seen = new Set(told.map((line) => (JSON.parse(line) as LiveEvent | Dropped).kind));
  assert.deepEqual([...seen].sort(), ['dropped', 'message_accepted', 'turn_finished']);
  for (const canary of [...Object.values(canaries), answer]) {
    assert.ok(!(lines.out() + json.out()).includes(canary), canary);
  }
});

test('a kind that there is not is named, with the nearest that there is', async () => {
  const { code, err } = await runCommand(['tail', '--kind', 'turn_finishd']);
  assert.equal(code, 2);
  assert.match(err, /There is no kind "turn_finishd"\. Did you mean turn_finished\?/);
  const other = await runCommand(['tail', '--kind', 'nope']);
  const said = 'svc tail: There is no kind "nope".\nSee "svc help tail".\n';
  assert.deepEqual([other.code, other.err], [2, said]);
});

test('a question that is given up says so, and no more where it asked for nothing', async () => {
  await using silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
  const given = new AbortController();
  const bearer = { kind: 'token', variable: 'X', token: 'x' } as const;
  const options = {
    address: { ...address, text: '', given: true, loopback: true },
    bearer,
    version: '0',
  };
  await using client = new AdminClient({ ...options, stop: given.signal });
  silent.once('request', () => silent.once('request', () => given.abort()));
  const questions = (['GET', 'POST'] as const).map((method) =>
    client.ask({ method, path: 'status', principal: 'operator' }),
  );
  const told = await Promise.allSettled(questions);
  assert.deepEqual(
    told.map((one) => one.status === 'rejected' && (one.reason as Error).message),
    ['Given up.', 'Given up; it may have been done all the same.'],
  );
  await using hurried = new AdminClient({ ...options, stop: AbortSignal.any([]), answerMs: 50 });
  const question = { method: 'GET', path: 'status', principal: 'reader' } as const;
  await assert.rejects(hurried.ask(question), /gave no answer within 0\.05 s/);
  silent.closeAllConnections();
});
