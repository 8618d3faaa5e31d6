/**
 * A new type of channel is its folder, a line in `src/channels/registry.ts`, and its maker in
 * `src/app/service.ts`. A copy of the program with a new messenger shows that all rooms know it.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { SteadyTime } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/config/locate.ts';
import type * as ChannelNamed from '../../src/admin/channel-named.ts';
import type * as Messages from '../../src/cli/ledger/messages.ts';
import type * as Consequences from '../../src/config/changes/changes.ts';
import type * as JsonSchema from '../../src/config/json-schema.ts';
import type * as Validate from '../../src/config/validate.ts';
import type * as Ids from '../../src/domain/ids.ts';
import type * as Events from '../../src/telemetry/events.ts';
import type * as HostModule from '../../src/app/runtime.ts';
import type * as Log from '../../src/lib/log.ts';
import type * as Service from '../../src/app/service.ts';
import type * as Sqlite from '../../src/ledger/sqlite/sqlite.ts';
import type * as ChoiceWords from '../../web/builder/document/choice-words.ts';
import type * as Actions from '../../web/builder/graph/actions.ts';
import type * as Drawing from '../../web/builder/graph/drawing.ts';
import type * as Channels from '../../web/builder/document/channels.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import type { Channel } from '../../src/channels/channel.ts';
import type { MessengerConfig } from '../../src/channels/registry.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { testChannel, type ChannelBench } from '../contract/channel.ts';
import { closedPort } from '../fake/closed-port.ts';
import type { ModelCall } from '../fake/model-server.ts';
import { noteEvents } from '../fake/webhook.ts';
import { FakeToybox } from '../fake/toybox.ts';
import { until, type Clock } from './messenger-house.ts';
import { scratch } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const dayMs = 24 * 3_600_000;
const own = new AsyncDisposableStack();
let copy = '';

before(async () => {
  copy = own.use(await scratch()).path;
  cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true });
  const isSource = (from: string): boolean => !from.startsWith(join(root, 'web', 'dist'));
  cpSync(join(root, 'web'), join(copy, 'web'), { recursive: true, filter: isSource });
  cpSync(join(root, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  addFolder();
  addLines('src/channels/registry.ts', "import { toy } from './toy/kind.ts';", [
    'const all = [telegram, discord, webhook] as const;',
    'const all = [telegram, discord, toy, webhook] as const;',
  ]);
  addLines('src/app/service.ts', "import { createToyChannel } from '../channels/toy/toy.ts';", [
    '  webhook: (config, secret',
    '  toy: (config, token, deps) => createToyChannel({ ...deps, config, token }),\n' +
      '  webhook: (config, secret',
  ]);
});
after(() => own.disposeAsync());

/** Adds the folder, with its imports one folder nearer. */
function addFolder(): void {
  const folder = join(copy, 'src/channels/toy');
  mkdirSync(folder);
  for (const file of ['kind.ts', 'toy.ts']) {
    const text = readFileSync(join(root, 'test/fixtures/toy', file), 'utf8');
    const moved = text.replaceAll("'../../../src/channels/", "'../");
    writeFileSync(join(folder, file), moved.replaceAll("'../../../src/", "'../../"));
  }
}

function addLines(file: string, line: string, [from, to]: readonly [string, string]): void {
  const text = readFileSync(join(copy, file), 'utf8');
  assert.ok(text.includes(from), `${file} has the line: ${from}`);
  const [head = '', ...rest] = text.split('\nimport ');
  const imports = [head, line.slice('import '.length), ...rest].join('\nimport ');
  writeFileSync(
    join(copy, file),
    imports.replace(from, () => to),
  );
}

const load = <Module>(file: string): Promise<Module> =>
  import(pathToFileURL(join(copy, file)).href) as Promise<Module>;

const channel: JsonObject = {
  type: 'toybox',
  token_env: 'TOY_TOKEN',
  toy: { room: 'attic' },
  access: { allow: [], pairing: true },
};

function documentOf(modelUrl: string, entry: JsonObject = channel): JsonObject {
  const local = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  const models = [{ ...local, base_url: modelUrl }];
  const policy = { kind: 'priority' };
  return {
    channels: [entry],
    brains: [{ name: 'b', sensitivity: 'private', policy, models }],
    routes: [{ channel: 'toy', brain: 'b' }],
    storage: {},
    session: {},
  };
}

const validate = async (document: JsonObject) => {
  const { validateText } = await load<typeof Validate>('src/config/validate.ts');
  return validateText(JSON.stringify(document));
};

/** The program with a toy, from its configuration to its ledger. */
async function startToy(modelUrl: string, toybox: FakeToybox, path: string, clock: Clock) {
  const now = (): number => clock.now;
  const steady = (): SteadyTime => clock.now as SteadyTime;
  const validation = await validate(documentOf(modelUrl, { ...channel, base_url: toybox.url }));
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  const { config } = validation;
  const { createRunningConfig, createServiceDeps } =
    await load<typeof Service>('src/app/service.ts');
  const { createIdSource } = await load<typeof Ids>('src/domain/ids.ts');
  const { createEvents } = await load<typeof Events>('src/telemetry/events.ts');
  const { createLog } = await load<typeof Log>('src/lib/log.ts');
  const { Runtime } = await load<typeof HostModule>('src/app/runtime.ts');
  const { openSqliteLedger } = await load<typeof Sqlite>('src/ledger/sqlite/sqlite.ts');
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });
  const events = createEvents({ log, now, steady });
  const ledger = await openSqliteLedger({ path, now, steady, ids, retentionDays: 0 });
  assert.ok(!('kind' in ledger));
  const deps = createServiceDeps(events, '0');
  const host = new Runtime({ ledger, events, ids, now, steady, random: Math.random });
  const [tokenEnv] = config.channels.map((one) => one.tokenEnv);
  const runningConfig = createRunningConfig(
    'r',
    config,
    new Map([[tokenEnv!, '77:secret']]),
    deps,
    new Map(),
  );
  assert.equal(await host.use(runningConfig), null);
  const end = async (): Promise<void> => {
    await host.drain();
    await ledger[Symbol.asyncDispose]();
    await deps.http.close();
  };
  return { host, events, end };
}

const textsOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);

async function startBench(): Promise<ChannelBench> {
  const { createMessenger, createServiceDeps } = await load<typeof Service>('src/app/service.ts');
  const toybox = await FakeToybox.start();
  const deps = createServiceDeps(noteEvents().events, '0');
  const make = async (baseUrl: string, token = '77:secret'): Promise<Channel> => {
    const entry = { ...channel, base_url: baseUrl };
    const validation = await validate(documentOf('http://127.0.0.1:9', entry));
    assert.ok(validation.kind === 'valid');
    const [config] = validation.config.channels;
    return createMessenger(config as MessengerConfig, new Map([[config!.tokenEnv, token]]), deps);
  };
  const made = await make(toybox.url);
  const address = { channel: 'toy:77', target: '5' };
  return {
    channel: made,
    hopeless: await make(toybox.url, 'no token'),
    reply: { id: '01kz8c4h9e2q7x5t0m3vbn', address, text: 'hi' } as unknown as Reply,
    shown: () => ({ text: toybox.texts.at(-1)!, presses: [] }),
    hasButtons: false,
    cutOff: await make(`http://127.0.0.1:${closedPort}`),
    async [Symbol.asyncDispose]() {
      await made[Symbol.asyncDispose]();
      await deps.http.close();
      await toybox[Symbol.asyncDispose]();
    },
  };
}

testChannel('toy', startBench);

test('its people pass the gate by a code, have sessions, and are recognised', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama((call) => ({ answer: textsOf(call).join(' | ') }));
  const clock = { now: Date.now() };
  await using toybox = await FakeToybox.start();
  const it = await startToy(model.url, toybox, join(folder.path, 'svc.db'), clock);
  const { host } = it;
  const hear = async (text: string): Promise<string> => {
    const heard = toybox.texts.length;
    toybox.say('5', text);
    await until(() => toybox.texts.length > heard);
    return toybox.texts.at(-1)!;
  };
  const code = /: ([A-Z0-9]{8})\./.exec(await hear('let me in'))?.[1];
  assert.equal((await host.pairings.admit(code!)).kind, 'admitted');
  assert.deepEqual(
    (await host.pairings.list()).map(({ channel: type, sender }) => [type, sender]),
    [['toy', '5']],
  );
  assert.equal(await hear('one'), 'one');
  assert.match(await hear('two'), /one \| one \| two$/);
  await hear('/new');
  assert.doesNotMatch(await hear('three'), /two/);

  const again = 1_000;
  for (const days of [0, 44, 2]) {
    clock.now += days * dayMs;
    toybox.say('5', `said once, ${days}`, again);
    toybox.say('5', `after ${days} days`);
    await until(() => toybox.texts.some((one) => one.endsWith(`after ${days} days`)));
  }
  const isTaken = toybox.texts.map((one) => /said once, (\d+)$/.exec(one)?.[1]);
  assert.deepEqual(isTaken.filter(Boolean), ['0', '2'], 'for the 45 days that its kind says');
  assert.ok(it.events.meters.channels.has('toy'));
  assert.equal(await host.pairings.remove('toy', '5'), 'done');
  await it.end();
});

test('its own fields are checked, read, described, and forbidden elsewhere', async () => {
  const good = await validate(documentOf('http://127.0.0.1:9'));
  assert.ok(good.kind === 'valid');
  const { type, room } = good.config.channels[0] as unknown as Record<string, unknown>;
  assert.deepEqual([type, room], ['toy', 'attic']);
  const faults = async (entry: JsonObject): Promise<readonly string[]> => {
    const { problems } = await validate(documentOf('http://127.0.0.1:9', entry));
    return problems.map(({ code, path }) => `${code} ${path}`);
  };
  assert.deepEqual(await faults({ ...channel, toy: null }), ['required channels[0].toy']);
  assert.deepEqual(await faults({ ...channel, toy: {} }), ['required channels[0].toy.room']);
  assert.deepEqual(await faults({ ...channel, mode: 'polling' }), ['not_here channels[0].mode']);
  const telegram = { ...channel, type: 'telegram', mode: 'polling' };
  assert.ok((await faults(telegram)).includes('not_here channels[0].toy'));
  const { jsonSchema } = await load<typeof JsonSchema>('src/config/json-schema.ts');
  assert.match(JSON.stringify(jsonSchema()), /What only toys have/);
});

test('the builder offers it, draws it, and says what a change does', async () => {
  const actions = await load<typeof Actions>('web/builder/graph/actions.ts');
  const { drawingOf } = await load<typeof Drawing>('web/builder/graph/drawing.ts');
  const words = await load<typeof ChoiceWords>('web/builder/document/choice-words.ts');
  const { channelTitle } = await load<typeof Channels>('web/builder/document/channels.ts');
  const { consequencesOf } = await load<typeof Consequences>('src/config/changes/changes.ts');
  const empty = { text: '{"channels": [], "brains": []}', document: { channels: [], brains: [] } };
  const added = JSON.parse(actions.addChannel(empty, 'toy' as never)!) as JsonObject;
  assert.deepEqual(added['channels'], [{ type: 'toy', token_env: 'TOY_TOKEN', toy: { room: '' } }]);
  assert.deepEqual(words.choiceOf('toy'), 'Toybox');
  assert.equal(channelTitle({ type: 'toybox' }), 'Toybox');
  const from = documentOf('http://127.0.0.1:9');
  assert.equal(drawingOf(from, []).nodes[0]!.title, 'Toybox');
  assert.deepEqual(consequencesOf({}, from), ['Toybox connects']);
  const moved = documentOf('http://127.0.0.1:9', { ...channel, toy: { room: 'cellar' } });
  assert.deepEqual(consequencesOf(from, moved), ['Toybox ends its connection and begins anew']);
});

test('the admin server and the commands know it by its names', async () => {
  const named = await load<typeof ChannelNamed>('src/admin/channel-named.ts');
  for (const [asked, key] of [
    ['toybox', 'toy'],
    ['toy:77', 'toy:77'],
  ] as const) {
    assert.deepEqual(named.channelsAsked(asked, []), { kind: 'found', channel: key });
  }
  const { messages } = await load<typeof Messages>('src/cli/ledger/messages.ts');
  assert.match(messages.usage ?? '', /only of .*\btoy\b/);
});
