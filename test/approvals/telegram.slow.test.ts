/** The running program asks for approval on a fake Telegram, and dies at every step of the way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asks, lastOf } from '../agents/stage.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startWeb, type Show } from '../fake/web.ts';
import { startServe } from '../support/in-process.ts';
import { freePort, scratch } from '../support/program.ts';
import { spawnOn, writeTelegramConfig } from '../telegram/program.ts';

type Hooks = {
  /** Called at each request to the platform, the model and the paid server. */
  step: (what: string) => void;
};

/** Ann's agent may pay once Bob, or the operator, has approved. */
async function stage(hooks: Hooks, storage: object = { storage: { path: 'svc.db' } }) {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  telegram.onCall = async ({ method }) => hooks.step(method);
  const shows: Show = { body: 'paid, number 17' };
  const web = own.use(await startWeb({ '/pay': shows }));
  const script = (call: ModelCall): Step => {
    const { role, content } = lastOf(call);
    if (role === 'user' && content === 'pay') {
      return asks('webhook_call', { url: `${web.origin}/pay`, body: { euros: 7 } });
    }
    if (!content.includes('[data ')) return { answer: `heard: ${content}` };
    hooks.step('model');
    return { answer: `told: ${/paid, number 17|was not repeated|not run/.exec(content)?.[0]}` };
  };
  const model = own.use(await startFakeOllama(script));
  const [ann, bob, eve] = ['Ann', 'Bob', 'Eve'].map((name) => telegram.person(name));
  const adminPort = await freePort();
  const cage = { allow_hosts: [`127.0.0.1:${web.port}`], timeout_seconds: 60 };
  const file = await writeTelegramConfig(folder, {
    telegramUrl: telegram.url,
    modelUrl: model.url,
    adminPort,
    more: {
      brains: [
        {
          name: 'helper',
          sensitivity: 'private',
          policy: { kind: 'priority' },
          models: [
            {
              provider: 'local_runtime',
              model_id: 'llama3',
              locality: 'local',
              base_url: model.url,
            },
          ],
          agent: {
            tools: ['webhook_call'],
            governance: [{ tool: 'webhook_call', mode: 'ask' }],
            approvers: [`telegram:${bob!.id}`],
            webhook_call: cage,
          },
        },
      ],
      routes: [{ channel: 'telegram', brain: 'helper' }],
      ...storage,
    },
  });
  const chats = [ann!, bob!, eve!].map((person) => telegram.privateChat(person));
  const [annChat, bobChat, eveChat] = chats as [
    (typeof chats)[0],
    (typeof chats)[0],
    (typeof chats)[0],
  ];
  const sentTo = (chat: { id: number }) =>
    telegram.sent.filter(({ message }) => message.chat.id === chat.id);
  return {
    telegram,
    web,
    model,
    people: { ann: annChat, bob: bobChat, eve: eveChat },
    bob: bob!,
    eve: eve!,
    startHere: () => startServe(file, { TELEGRAM_TOKEN: telegram.token }),
    /** In a separate process, which a test can kill. */
    start: () => spawnOn(file, telegram),
    /** The n-th message in that chat, from 1. */
    sent: (chat: { id: number }, n: number) =>
      telegram.until(() => sentTo(chat)[n - 1], `message ${n} in chat ${chat.id}`),
    count: (chat: { id: number }) => sentTo(chat).length,
    metrics: async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text(),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

for (const [backend, storage] of [
  ['memory', {}],
  ['storage', { storage: { path: 'svc.db' } }],
] as const) {
  test(`${backend}: asked, pressed by a stranger in vain, approved by a press, told`, async () => {
    await using it = await stage({ step() {} }, storage);
    await using program = it.startHere();
    const { ann, bob } = it.people;
    it.telegram.say(ann, 'pay');
    const asked = await it.sent(ann, 1);
    assert.match(asked.text, /^I need a yes for: webhook_call \{"body":\{"euros":7\}/);
    const question = await it.sent(bob, 1);
    assert.match(question.text, /^helper needs a yes for: webhook_call/);
    assert.equal(it.web.visits.length, 0);
    it.telegram.press(it.eve, asked.message, 'Approve');
    assert.match((await it.sent(ann, 2)).text, /^There is nothing under this code/);
    assert.equal(it.web.visits.length, 0);
    it.telegram.press(it.bob, question.message, 'Approve');
    assert.match((await it.sent(bob, 2)).text, /^Approved: webhook_call runs now/);
    assert.equal((await it.sent(ann, 3)).text, 'told: paid, number 17');
    assert.equal(it.web.visits.length, 1);
    it.telegram.press(it.bob, question.message, 'Approve');
    assert.match((await it.sent(bob, 3)).text, /^That was decided before: it was approved/);
    assert.equal(it.web.visits.length, 1);
    const metrics = await it.metrics();
    assert.match(metrics, /svc_approvals_total\{verdict="approved"\} 1\n/);
    assert.match(metrics, /svc_approvals_waiting 0\n/);
    const log = program.log();
    assert.match(log, /approval_asked/);
    assert.match(log, /approval_decided/);
    assert.ok(!log.includes(String(it.bob.id)), 'no person stands in the log');
    assert.ok(!log.includes('euros'), 'and no argument');
    assert.equal(await program.stop(), 0, program.log());
  });
}

/** The fatal requests, counted from Bob's press on. The last comes after all work is done. */
const deaths: readonly (readonly [what: string, nth: number])[] = [
  ['getUpdates', 1],
  ['getUpdates', 2],
  ['answerCallbackQuery', 1],
  ['sendMessage', 1],
  ['pay', 1],
  ['model', 1],
  ['sendMessage', 2],
];

test('killed with the question asked: it waits on, and a press after it runs it', async () => {
  await using it = await stage({ step() {} });
  const { ann, bob } = it.people;
  {
    await using program = it.start();
    it.telegram.say(ann, 'pay');
    await it.sent(bob, 1);
    program.child.kill('SIGKILL');
    await program.ended;
  }
  await using program = it.startHere();
  const question = await it.sent(bob, 1);
  it.telegram.press(it.bob, question.message, 'Approve');
  const isTold = () => it.telegram.sent.some(({ text }) => text === 'told: paid, number 17');
  await it.telegram.until(() => isTold() || undefined, 'the result is told');
  assert.equal(it.web.visits.length, 1);
  assert.equal(await program.stop(), 0, program.log());
});

for (const [what, nth] of deaths) {
  test(`killed at ${what} ${nth} after the yes: it ran at most once, no more`, async () => {
    const hooks: Hooks = { step() {} };
    await using it = await stage(hooks);
    it.web.pages.set('/pay', { body: 'paid, number 17' });
    const { ann, bob } = it.people;
    {
      await using program = it.start();
      it.telegram.say(ann, 'pay');
      const question = await it.sent(bob, 1);
      await it.sent(ann, 1);
      let seen = 0;
      const died = Promise.withResolvers<void>();
      hooks.step = (step) => {
        if (step !== what || ++seen !== nth) return;
        program.child.kill('SIGKILL');
        died.resolve();
      };
      if (what === 'pay') {
        it.web.pages.set('/pay', () => hooks.step('pay'));
      }
      it.telegram.press(it.bob, question.message, 'Approve');
      await died.promise;
      await program.ended;
    }
    hooks.step = () => {};
    await using program = it.startHere();
    await program.saw('"listening"');
    const isTold = (): boolean =>
      it.telegram.sent.some(({ message, text }) => {
        return message.chat.id === ann.id && text.startsWith('told: ');
      });
    await it.telegram.until(() => isTold() || undefined, 'what became of it is told');
    assert.ok(it.web.visits.length <= 1, `${it.web.visits.length} visits`);
    const told = it.telegram.sent.findLast(({ text }) => text.startsWith('told: '))!.text;
    assert.match(told, /paid, number 17|was not repeated/);
    if (told.includes('paid')) assert.equal(it.web.visits.length, 1);
    const metrics = await it.metrics();
    assert.match(metrics, /svc_approvals_waiting 0\n/);
    assert.equal(await program.stop(), 0, program.log());
  });
}
