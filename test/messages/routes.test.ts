/** Messages of one conversation and several brains, from the platform to the reply. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RunningConfig } from '../../src/app/running-config.ts';
import type { Brain } from '../../src/brains/brain.ts';
import { createResponder } from '../../src/brains/responder.ts';
import type { Model } from '../../src/brains/models/model.ts';
import { createPriority } from '../../src/brains/policies/priority.ts';
import type { OfferedCommands } from '../../src/channels/channel.ts';
import type { AccessConfig } from '../../src/config/config.ts';
import type { ConversationId, ModelName } from '../../src/domain/ids.ts';
import type { Inbound, Media } from '../../src/domain/message.ts';
import type { RouteCondition } from '../../src/domain/routing.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { openAccess } from '../../src/pipeline/gate.ts';
import { brainsByName, routed } from '../fake/channel.ts';
import { scratch } from '../support/program.ts';
import { openHouse, openMemory, openStorage, until } from './messenger-house.ts';

const nothing = { senders: null, chats: null, topics: null, commands: null };
type Rule = Partial<RouteCondition> & { readonly to: Brain; readonly description?: string };

/** A brain that echoes its question, over one model; `asked`: what its model was shown. */
function brainOf(name: string, sensitivity: 'public' | 'private', locality: 'local' | 'cloud') {
  const asked: string[] = [];
  const gate = { open: () => {}, opened: Promise.resolve() };
  const model: Model = {
    name: `local_runtime/${name}` as ModelName,
    provider: 'local_runtime',
    modelId: name,
    locality,
    mayForward: false,
    async ask({ lines }) {
      asked.push(lines.map(({ text }) => text).join(' | '));
      await gate.opened;
      const text = `${name}: ${lines.at(-1)!.text}`;
      return { kind: 'answer', text, calls: [], usage: null, tries: [], linesDropped: 0 };
    },
    sees: async () => false,
    check: async () => ({ kind: 'reached', hasModel: true, runs: 'here', others: [] }),
  };
  const brain = createResponder({
    name,
    sensitivity,
    dispatch: 'fanout',
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    systemPrompt: null,
    deadlineMs: 60_000,
    members: [{ model, rank: 0, retriesMax: 0 }],
    policy: createPriority(),
    ...systemClock,
    deadlines: createDeadlines(),
    retryDelayMs: () => null,
    onFault: (error) => assert.fail(String(error)),
  });
  /** Keeps the answers back until `release`. */
  const hold = (): void => {
    gate.opened = new Promise((resolve) => (gate.open = resolve));
  };
  return { brain, asked, hold, release: () => gate.open() };
}

/** A messenger in front of a runtime; each configuration gives it other routes. */
function openRouted(ledger: Ledger, time = { now: Date.now() }) {
  const { host, messenger } = openHouse(ledger, time);
  let menu: OfferedCommands['commands'] = [];
  let revisions = 0;
  /** Routes in this order; the last one has no conditions. */
  const use = async (rules: readonly Rule[], access: AccessConfig = openAccess): Promise<void> => {
    const bot = messenger.bot('77:a');
    const channel = {
      ...bot,
      publishCommands: (all: OfferedCommands) => void (menu = all.commands),
    };
    const routes = rules.map(({ to, description = null, ...when }, at) => {
      const isLast = at === rules.length - 1;
      return {
        number: at + 1,
        brain: to,
        when: isLast ? null : { ...nothing, ...when },
        description,
      };
    });
    const brains = brainsByName(...rules.map(({ to }) => to));
    const planned = routed('messenger_a', channel, rules[0]!.to, { routes, access });
    const next = new RunningConfig(`plan ${++revisions}`, [planned], brains);
    assert.equal(await host.use(next), null);
  };
  const textsOf = (person: string) =>
    messenger.delivered
      .filter(({ conversation }) => conversation === person)
      .map(({ text }) => text);
  /** Says it, and resolves with the reply. */
  const ask = async (
    person: string,
    text: string,
    more: Partial<Inbound> = {},
  ): Promise<string> => {
    const before = textsOf(person).length;
    await messenger.say(person, text, more);
    await until(() => textsOf(person).length > before);
    return textsOf(person).at(-1)!;
  };
  return { host, messenger, use, ask, textsOf, menu: () => menu };
}

const house = () => openRouted(openMemory({ now: Date.now() }));

test('the model is not shown the command of the route, and the rest is its question', async () => {
  const it = house();
  const [code, main] = [brainOf('code', 'public', 'local'), brainOf('main', 'public', 'local')];
  await it.use([{ to: code.brain, commands: ['/code'] }, { to: main.brain }]);
  assert.equal(await it.ask('1', '/code fix this'), 'code: fix this');
  assert.equal(await it.ask('1', '/code@our_bot fix that'), 'code: fix that');
  assert.equal(await it.ask('1', '/weather here'), 'main: /weather here');
  assert.equal(await it.ask('1', 'hello /code'), 'main: hello /code');
  assert.doesNotMatch(code.asked.join(), /\/code/);
  await it.host.drain();
});

test('a command without text or media is answered with its description by no model', async () => {
  const it = house();
  const [code, main] = [brainOf('code', 'public', 'local'), brainOf('main', 'public', 'local')];
  const described = { description: 'Answers questions about code.' };
  const rules = [
    { to: code.brain, commands: ['/code'], ...described },
    { to: code.brain, commands: ['/debug'] },
    { to: main.brain },
  ];
  await it.use(rules);
  assert.equal(await it.ask('1', '/code'), described.description);
  assert.equal(await it.ask('1', ' /code@our_bot\n'), described.description);
  assert.equal(await it.ask('1', '/debug'), 'Write what you want to ask behind /debug.');
  assert.deepEqual([code.asked, main.asked], [[], []]);
  await it.use([
    { to: code.brain, commands: ['/code'], chats: ['2'], description: 'For the team.' },
    ...rules,
  ]);
  assert.equal(await it.ask('2', '/code'), 'For the team.');
  assert.equal(await it.ask('1', '/code'), described.description);
  const media: Media = { type: 'image/png', reference: 'photo.png' };
  await it.ask('1', '/code', { media });
  assert.equal(code.asked.length, 1, 'a picture is something to ask');
  await it.host.drain();
});

test('the menu and /help list the commands of routes', async () => {
  const it = house();
  const [code, main] = [brainOf('code', 'public', 'local'), brainOf('main', 'public', 'local')];
  await it.use([
    { to: code.brain, commands: ['/code'], description: 'Ask about code' },
    { to: code.brain, commands: ['/pay'], senders: ['boss'] },
    { to: main.brain },
  ]);
  assert.deepEqual(
    it
      .menu()
      .map(({ word, description }) => `${word}: ${description}`)
      .slice(0, 2),
    ['code: Ask about code', 'pay: Ask code'],
  );
  assert.match(await it.ask('1', '/help'), /^\/code: Ask about code\.$/m);
  assert.doesNotMatch(await it.ask('1', '/help'), /\/pay/);
  assert.match(await it.ask('boss', '/help'), /^\/pay: Ask code\.$/m);
  await it.host.drain();
});

test('in a group a command of a route is for this bot, without a mention', async () => {
  const it = house();
  const [code, main] = [brainOf('code', 'public', 'local'), brainOf('main', 'public', 'local')];
  await it.use([{ to: code.brain, commands: ['/code'] }, { to: main.brain }]);
  const unnamed = { setting: 'command' } as const;
  await it.messenger.say('g', '/weather', unnamed);
  assert.equal(await it.ask('g', '/code fix', unnamed), 'code: fix');
  assert.equal(await it.ask('g', '/code again', { setting: 'addressed' }), 'code: again');
  assert.deepEqual([it.textsOf('g').length, main.asked], [2, []]);
  await it.host.drain();
});

test('a change of the routes moves no message that was accepted', async () => {
  const it = house();
  const [code, main] = [brainOf('code', 'public', 'local'), brainOf('main', 'public', 'local')];
  const byCommand = { commands: ['/ask'] };
  await it.use([{ to: code.brain, ...byCommand }, { to: main.brain }]);
  code.hold();
  await it.messenger.say('1', '/ask one');
  await until(() => code.asked.length === 1);
  for (const text of ['/ask two', 'three']) await it.messenger.say('1', text);
  await it.use([{ to: main.brain, ...byCommand }, { to: code.brain }]);
  await it.messenger.say('1', '/ask four');
  code.release();
  await until(() => it.textsOf('1').length === 4);
  assert.deepEqual(it.textsOf('1'), ['code: one', 'code: two', 'main: three', 'main: four']);
  await it.host.drain();
});

test('if its brain is gone, a message is routed anew, and stays as private as it was', async () => {
  const it = house();
  const [own, main] = [brainOf('own', 'private', 'local'), brainOf('main', 'public', 'cloud')];
  const byCommand = { commands: ['/own'] };
  await it.use([{ to: own.brain, ...byCommand }, { to: main.brain }]);
  own.hold();
  await it.messenger.say('1', '/own one');
  await until(() => own.asked.length === 1);
  await it.messenger.say('1', '/own my diagnosis');
  const here = brainOf('here', 'public', 'local');
  await it.use([{ to: main.brain, senders: ['1'] }, { to: here.brain }]);
  own.release();
  await until(() => it.textsOf('1').length === 2);
  assert.deepEqual(main.asked, [], 'its only model is in a cloud');
  assert.equal(await it.ask('1', 'hello'), 'main: hello');
  assert.doesNotMatch(main.asked.join(), /diagnosis|one/);
  await it.host.drain();
});

test('a message without a route takes one when it is claimed, and keeps its label', async () => {
  const ledger = openMemory({ now: Date.now() });
  const it = openRouted(ledger);
  const [own, code] = [brainOf('own', 'private', 'local'), brainOf('code', 'public', 'cloud')];
  const main = brainOf('main', 'public', 'local');
  const channel = it.messenger.key;
  const old = (conversation: string, text: string, sensitivity: 'public' | 'private') => ({
    channel,
    conversation: conversation as ConversationId,
    sender: { id: conversation, name: null },
    text,
    media: null,
    address: { channel, target: conversation },
    dedupeKey: null,
    sensitivity,
  });
  await ledger.accept([
    old('1', '/own x', 'public'),
    old('2', '/code x', 'private'),
    old('3', 'x', 'private'),
  ]);
  const rules = [
    { to: own.brain, commands: ['/own'] },
    { to: code.brain, commands: ['/code'] },
    { to: main.brain },
  ];
  await it.use(rules);
  await until(() => it.messenger.delivered.length === 3);
  assert.deepEqual([it.textsOf('1'), it.textsOf('3')], [['own: x'], ['main: x']]);
  assert.deepEqual(code.asked, [], 'a private text goes to no model in a cloud');
  await it.host.drain();
});

test('what was private by its route is shown to no cloud model of another route', async () => {
  await using folder = await scratch();
  const time = { now: Date.now() };
  const it = openRouted(await openStorage(folder.path, time), time);
  const [own, main] = [brainOf('own', 'private', 'local'), brainOf('main', 'public', 'cloud')];
  const here = brainOf('here', 'public', 'local');
  await it.use([
    { to: own.brain, commands: ['/own'] },
    { to: here.brain, commands: ['/here'] },
    { to: main.brain },
  ]);
  assert.equal(await it.ask('1', '/own my diagnosis'), 'own: my diagnosis');
  assert.equal(await it.ask('1', 'hello'), 'main: hello');
  const quoted = { by: 'us', name: null, text: 'own: my diagnosis', at: 0 } as const;
  await it.ask('1', 'what is this?', { context: { quoted } });
  assert.doesNotMatch(main.asked.join(), /diagnosis/);
  await it.ask('1', '/here and now?');
  assert.match(here.asked.join(), /diagnosis/, 'a model that is here may see it');
  assert.equal(await it.ask('1', 'and you?'), 'main: and you?');
  assert.doesNotMatch(main.asked.join(), /diagnosis|and now/);
  await it.host.drain();
});

test('an operator answers for the brain of the message', async () => {
  const ledger = openMemory({ now: Date.now() });
  const it = openRouted(ledger);
  const [own, main] = [brainOf('own', 'private', 'local'), brainOf('main', 'public', 'cloud')];
  await it.use([{ to: own.brain, commands: ['/own'] }, { to: main.brain }]);
  const where = { channel: it.messenger.key, conversation: '1' as ConversationId };
  await ledger.takeovers.hold(where);
  await it.messenger.say('1', '/own my diagnosis');
  const [waiting] = await ledger.takeovers.waiting(where);
  const answer = await it.host.answerAsOperator(where, { text: 'by hand', upTo: waiting!.id });
  assert.equal(answer.kind, 'answered');
  await ledger.takeovers.giveBack(where);
  await until(() => it.textsOf('1').length === 1);
  assert.equal(await it.ask('1', 'hello'), 'main: hello');
  assert.doesNotMatch(main.asked.join(), /diagnosis|by hand/);
  await it.host.drain();
});
