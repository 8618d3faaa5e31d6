/** An operator's commands for calls that wait for approval, with and without storage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, lastOf } from '../agents/stage.ts';
import { openApprovalHouse, resultIn } from './house.ts';
import { adminToken } from '../fake/admin-api.ts';
import { fakeReader } from '../fake/admin-ledger.ts';
import { makeWorld, openAdmin } from '../fake/admin-world.ts';
import type { Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { openMemory } from '../messages/messenger-house.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const env = { TEST_ADMIN: adminToken };

/** Wants to calculate the message, and reports the result. */
const reckoner: Script = (call) => {
  const { content } = lastOf(call);
  const result = resultIn(content);
  return result === null ? asks('calc', { expression: content }) : { answer: `told: ${result}` };
};

async function startStage(more: object) {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const model = opened.use(await startFakeOllama(reckoner));
  const receiver = opened.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(at);
  const agent = { tools: ['calc'], governance: [{ tool: 'calc', mode: 'ask' }] };
  const brains = [{ ...config.brains[0], agent }];
  const file = await writeConfig(folder.path, {
    ...config,
    brains,
    admin: { token_env: 'TEST_ADMIN' },
    ...more,
  });
  const program = opened.use(await serveHere(file, port, env));
  const svc = (...args: string[]) => runCommand(args, { cwd: folder.path, env });
  let replies = 0;
  const stack = opened.move();
  return {
    svc,
    model,
    log: program.log,
    /** @returns the text of the next reply */
    async nextReply(): Promise<string> {
      replies++;
      return String((await receiver.waitFor(replies))[replies - 1]!.body['text']);
    },
    say: (text: string) => post(program.url, { sender_id: 'ada', text }),
    /** The ids of the waiting ones, newest first. */
    async waiting(): Promise<string[]> {
      const { out } = await svc('approvals', 'list', '--json');
      return (JSON.parse(out) as { rows: { id: string }[] }).rows.map(({ id }) => id);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const backends = { 'in memory': {}, 'in a file': { storage: { path: 'svc.db' } } };

for (const [backend, more] of Object.entries(backends)) {
  test(`${backend}: a call runs once it is approved, and the reply arrives`, async () => {
    await using stage = await startStage(more);
    const { svc } = stage;
    assert.equal((await svc('approvals', 'list')).out, 'No call waits for a yes.\n');
    await stage.say('6 * 7');
    assert.match(await stage.nextReply(), /^I need a yes for: calc \{"expression":"6 \* 7"\}\n/);
    const [id, ...others] = await stage.waiting();
    assert.deepEqual(others, []);
    const shown = await svc('approvals', 'show', id!);
    assert.match(shown.out, new RegExp(`^approval ${id}: waiting\n`));
    assert.ok(shown.out.includes('{"expression":"6 * 7"}') && shown.out.includes('written by ada'));
    assert.ok(shown.out.endsWith(`svc approvals approve ${id}\nsvc approvals refuse ${id}\n`));
    assert.match((await svc('status')).out, /^! tool calls: 1 waits for a yes; /m);

    const done = await svc('approvals', 'approve', id!);
    assert.deepEqual(done, { code: 0, out: `approved: ${id}\n`, err: '' });
    assert.equal(await stage.nextReply(), 'told: 42');
    assert.deepEqual(await stage.waiting(), []);
    assert.match((await svc('approvals', 'show', id!)).out, /: approved by operator at .*: done\n/);
    assert.match((await svc('approvals', 'list', '--state', 'approved')).out, new RegExp(id!));
    assert.match((await svc('audit')).out, new RegExp(`approve +200 +.*${id}`));
  });

  test(`${backend}: what is refused never runs, and one word is taken`, async () => {
    await using stage = await startStage(more);
    const { svc } = stage;
    await stage.say('1 + 1');
    await stage.nextReply();
    const [id] = await stage.waiting();
    assert.equal((await svc('approvals', 'refuse', id!)).out, `refused: ${id}\n`);
    assert.match(await stage.nextReply(), /^told: .*said no/);
    const late = await svc('approvals', 'approve', id!);
    assert.deepEqual([late.code, late.out], [1, '']);
    assert.match(late.err, /^The running svc refused: It is refused already/);
    assert.equal(stage.model.calls.length, 2);
    const unknown = await svc('approvals', 'approve', '0123456789abcdefghjkmn');
    assert.match(unknown.err, /^The running svc refused: No approval has this id/);
    const none = await svc('approvals', 'show', '0123456789abcdefghjkmn');
    assert.match(none.err, /^No approval with this id is known here/);
  });

  test(`${backend}: show alone tells the code, while the call waits`, async () => {
    await using stage = await startStage(more);
    const { svc } = stage;
    await stage.say('2 + 2');
    await stage.nextReply();
    const [id] = await stage.waiting();
    const code = /\b[0-9A-HJKMNP-TV-Z]{10}\b/;
    for (const args of [
      ['list', '--json'],
      ['show', id!, '--json'],
      ['show', id!],
    ]) {
      const { out } = await svc('approvals', ...args);
      assert.doesNotMatch(out, /"(hash|address)"/);
      assert.equal(code.test(out), args[0] === 'show', out);
    }
    await svc('approvals', 'refuse', id!);
    assert.doesNotMatch((await svc('approvals', 'show', id!, '--json')).out, code);
  });
}

test('an operator decides by the id alone, and a reader is not told who decided', async () => {
  const clock = { now: Date.UTC(2026, 10, 27, 12) };
  await using house = await openApprovalHouse(openMemory(clock), clock);
  await house.say('ada', 'pay');
  const { id, code } = await house.waiting();
  assert.deepEqual(await house.host.decide(code, 'approved'), { kind: 'not_found' });
  await house.reply('boss', 1);
  await house.say('boss', `/refuse ${code}`);
  assert.equal((await house.ledger.approvals.find(id))?.decidedBy, 'messenger_a:boss');
  const world = makeWorld();
  const reader = fakeReader([]);
  world.ports.reader.approvals = async (...asked) => {
    const { rows, next } = await reader.approvals(...asked);
    return { rows: rows.map((row) => ({ ...row, decidedBy: 'messenger_a:boss' })), next };
  };
  await using admin = await openAdmin(world);
  const { body } = await admin.get('/api/v1/approvals?state=refused');
  assert.ok(body.includes('"decidedBy":"approver"'), body);
  assert.ok(!body.includes('boss'));
});

test('what is missing is said', async () => {
  for (const [args, words] of [
    [['show'], /The id is missing/],
    [['approve'], /Say which one: its id/],
    [['refuse'], /Say which one: its id/],
    [['list', '--state', 'lost'], /--state is one of waiting, approved, refused, expired/],
  ] as const) {
    const { code, err } = await runCommand(['approvals', ...args]);
    assert.equal(code, 2);
    assert.match(err, words);
  }
});
