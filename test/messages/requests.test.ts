/** Requests of API clients through the runtime, on each backend of the ledger. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { openLedger, type OpenStore } from '../../src/app/storage.ts';
import { RunningConfig, type RoutedChannel } from '../../src/app/running-config.ts';
import { Runtime, type RuntimeOptions } from '../../src/app/runtime.ts';
import type { Brain, Turn, TurnContext } from '../../src/brains/brain.ts';
import { historyBounds } from '../../src/domain/conversation.ts';
import type { Decision } from '../../src/domain/decision.ts';
import { completionsChannel, createIdSource, type ModelName } from '../../src/domain/ids.ts';
import type { Story } from '../../src/domain/story.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Stop } from '../../src/lib/stop.ts';
import type { Pictures } from '../../src/pipeline/attachments/picture/picture.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { brainsByName, everyMessageTo, FakePlatform, routed } from '../fake/channel.ts';
import { FakeApi } from '../fake/api-clients.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { scratch } from '../support/program.ts';
import { until, within } from '../support/waiting.ts';

const { now, steady } = systemClock;
const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });
const model = 'test/test' as ModelName;
const page = { limit: 50, after: null };

function reply(text: string, more: object = {}): Decision {
  return { kind: 'reply', text, model, why: 'only one', ...more };
}

type Think = (turn: Turn, turnContext: TurnContext) => Promise<Decision>;

function brainOf(think: Think, more: Partial<Brain> = {}): Brain {
  const plain = { agent: null, budget: null, historyBounds, deadlineMs: 60_000 };
  return { name: 'main', sensitivity: 'public', ...plain, think, ...more };
}

/** Answers when its turn is stopped, which is too late. */
function hanging() {
  const stops: Stop[] = [];
  const brain = brainOf((_turn, { stop }) => {
    stops.push(stop);
    return new Promise((resolve) => stop.listen(() => resolve(reply('too late'))));
  });
  return { brain, stops };
}

const pictures: Pictures = {
  remake: async (bytes) => ({ kind: 'remade', picture: { type: 'image/png', bytes } }),
  [Symbol.asyncDispose]: async () => {},
};

function apiTo(api: FakeApi, brain: Brain): RoutedChannel {
  const [route] = everyMessageTo(brain);
  const name = completionsChannel;
  const rules = { session: null, access: null, reading: { pictures } };
  const routes = [{ ...route!, number: 0 }];
  return { name, type: 'completions', channel: api.channel(), routes, ...rules };
}

function configOf(api: FakeApi, brain: Brain, text = brain.name): RunningConfig {
  return new RunningConfig(text, [apiTo(api, brain)], brainsByName(brain));
}

/** One process on a storage. */
class House implements AsyncDisposable {
  readonly api = new FakeApi();
  readonly host: Runtime;
  readonly store: OpenStore;
  readonly events = createEvents({ log, now, steady });

  constructor(store: OpenStore, options: Partial<RuntimeOptions>) {
    const { ledger } = store;
    const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
    const deps = { ledger, events: this.events, ids, now, steady, random: Math.random };
    this.host = new Runtime(deps, options);
    this.store = store;
  }

  async use(brain: Brain): Promise<this> {
    assert.equal(await this.host.use(configOf(this.api, brain)), null);
    return this;
  }

  /** The story of a message that has ended. */
  settled(id: string): Promise<Story> {
    return until(`the end of ${id}`, async () => {
      const story = await this.store.reader.story(id);
      return story?.settledAt == null ? null : story;
    });
  }

  async outcome(id: string): Promise<string | undefined> {
    return (await this.settled(id)).trace?.outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.drain(0);
    await this.store.reader[Symbol.asyncDispose]();
    await this.store.cluster[Symbol.asyncDispose]?.();
  }
}

type Place = { readonly storage: string | null; readonly url: string | null };

async function openHouse(place: Place, options: Partial<RuntimeOptions> = {}): Promise<House> {
  const { storage: path, url } = place;
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const storage = { path, retentionDays: 30, urlEnv: null };
  const file = path === null ? null : ({ kind: 'file', path } as const);
  const at = url === null ? file : ({ kind: 'server', url } as const);
  const store = await openLedger({
    storage: at === null ? null : storage,
    at,
    ids,
    version: 'test',
    publicNow: null,
    failed: (error) => assert.fail(String(error)),
    news: {},
    now,
    steady,
  });
  assert.ok(!('kind' in store), 'message' in store ? store.message : '');
  return new House(store, options);
}

type Kind = 'memory' | 'sqlite' | 'postgres';

async function withPlace(kind: Kind, act: (place: Place) => Promise<void>): Promise<void> {
  await using folder = await scratch();
  await act({
    storage: kind === 'sqlite' ? join(folder.path, 'svc.db') : null,
    url: kind === 'postgres' ? await newDatabase() : null,
  });
}

for (const kind of ['memory', 'sqlite', 'postgres'] as const) {
  suite(`API requests, ${kind}`, { skip: kind === 'postgres' && noPostgres }, () => {
    const it = (name: string, act: (place: Place) => Promise<void>): void =>
      void test(name, () => withPlace(kind, act));

    it('a request is answered, and leaves a message and no conversation', async (place) => {
      await using house = await openHouse(place);
      const seen: Turn[] = [];
      await house.use(
        brainOf(async (turn, { show }) => {
          seen.push(turn);
          show?.('hi');
          return reply('hi there');
        }),
      );
      const lines = [
        { role: 'user', text: 'before', media: [] },
        { role: 'assistant', text: 'yes' },
        { role: 'user', text: 'hello', media: [] },
      ] as const;
      const { client, id } = await house.api.ask({ lines, newest: 2, system: 'be brief' });
      await until('the reply', () => client.reply !== null);
      assert.equal(client.reply?.text, 'hi there');
      assert.equal(client.ended?.kind, 'decided');
      assert.deepEqual(client.shown, ['hi']);
      assert.deepEqual(seen[0]?.given?.before, [
        { role: 'user', text: 'before' },
        { role: 'assistant', text: 'yes' },
      ]);
      assert.deepEqual([seen[0]?.given?.system, seen[0]?.history], ['be brief', []]);
      const story = await house.settled(id);
      assert.deepEqual([story.channel, story.trace?.outcome], [completionsChannel, 'reply']);
      await until('the delivery', async () => {
        const { rows } = await house.store.reader.deliveries({ channel: null, state: null }, page);
        return rows.every(({ state }) => state === 'delivered');
      });
      const { rows } = await house.store.reader.conversations(page);
      assert.deepEqual(rows, []);
      assert.equal(house.store.ledger.gauges().rememberedBytes, 0);
      assert.equal(house.events.meters.decisions.reply, 1);
      assert.equal(house.events.meters.channels.get('completions')?.firstWords.count, 1);
    });

    it('a client that hangs up stops the brain, and its message is abandoned', async (place) => {
      await using house = await openHouse(place);
      const { brain, stops } = hanging();
      await house.use(brain);
      const { client, id } = await house.api.ask({});
      await until('the turn', () => stops.length === 1);
      client.gone.stop();
      const story = await house.settled(id);
      assert.deepEqual([story.trace?.outcome, story.replies], ['abandoned', []]);
      assert.equal(stops[0]?.stopped, true);
      await until('the count', () => house.events.meters.decisions.abandoned === 1);
      assert.equal(client.reply, null);
    });

    it('a message for which nobody waits is abandoned, and no brain is asked', async (place) => {
      await using house = await openHouse(place);
      await house.use(brainOf(() => assert.fail('the brain was asked')));
      const asking = house.api.ask({});
      house.api.waiting.clear();
      assert.equal(await house.outcome((await asking).id), 'abandoned');
      await until('the event', () => house.events.meters.decisions.abandoned === 1);
    });

    it('a stop abandons what is not done in time, and tells its client', async (place) => {
      await using house = await openHouse(place);
      const { brain, stops } = hanging();
      await house.use(brain);
      const { client, id } = await house.api.ask({});
      await until('the turn', () => stops.length === 1);
      assert.equal((await house.host.drain(0)).rows, 0);
      assert.equal(client.failed, 'stopped');
      if (kind === 'memory') assert.equal(await house.outcome(id), 'abandoned');
    });

    it('forgetting the sender ends the request under way without a reply', async (place) => {
      await using house = await openHouse(place);
      const { brain, stops } = hanging();
      await house.use(brain);
      const { client, id } = await house.api.ask({ user: 'ada' });
      await until('the turn', () => stops.length === 1);
      const whose = { kind: 'sender', channel: completionsChannel, sender: 'ada' } as const;
      assert.equal(await house.store.ledger.forget(whose), 1);
      await until('the error', () => client.failed === 'deleted');
      assert.equal(client.reply, null);
      // Without storage the story has no text.
      if (kind !== 'memory') assert.equal(await house.store.reader.story(id), null);
    });

    if (kind !== 'memory')
      it('forgetting the sender deletes earlier requests with their replies', async (place) => {
        await using house = await openHouse(place);
        await house.use(brainOf(async () => reply('hi')));
        const { id, client } = await house.api.ask({ user: 'ada' });
        const other = await house.api.ask({ user: 'bob' });
        await until('the replies', () => client.reply !== null && other.client.reply !== null);
        await house.settled(id);
        const whose = { kind: 'sender', channel: completionsChannel, sender: 'ada' } as const;
        assert.ok((await house.store.ledger.forget(whose)) >= 1);
        assert.equal(await house.store.reader.story(id), null);
        assert.equal(await house.outcome(other.id), 'reply');
      });

    it('a takeover ends the request under way, and no brain answers it later', async (place) => {
      await using house = await openHouse(place);
      const { brain, stops } = hanging();
      await house.use(brain);
      const { client, id, conversation } = await house.api.ask({});
      await until('the turn', () => stops.length === 1);
      const where = { channel: completionsChannel, conversation };
      const { takeovers } = house.store.ledger;
      assert.equal(typeof (await takeovers.hold(where)), 'object');
      await until('the error', () => client.failed !== null);
      house.api.waiting.clear();
      assert.equal(await takeovers.giveBack(where), 'done');
      assert.equal(await house.outcome(id), 'abandoned');
      assert.equal(stops.length, 1);
    });

    it('a bug ends its request with a fault, and its message is a dead letter', async (place) => {
      await using house = await openHouse(place);
      await house.use(brainOf(async () => reply('hi')));
      house.api.fetching = () => Promise.reject(new Error('a bug of the test'));
      const media = { type: 'image/png', reference: 'picture 1', file: '0/0' };
      const { client, id } = await house.api.ask({}, [media]);
      await until('the reply', () => client.reply !== null);
      const { ended } = client;
      const decision = ended?.kind === 'decided' ? ended.decision : null;
      assert.equal(decision?.kind === 'apology' && decision.apology, 'fault');
      assert.equal((await house.settled(id)).state, 'dead');
      if (kind === 'memory') return;
      // The client has its answer, so nobody waits for the replay.
      assert.equal(await house.store.ledger.replay(id), 'done');
      assert.equal(await house.outcome(id), 'abandoned');
    });

    it('a bug in a request that is deleted meanwhile ends it, too', async (place) => {
      await using house = await openHouse(place);
      await house.use(brainOf(() => assert.fail('the brain was asked')));
      const whose = { kind: 'sender', channel: completionsChannel, sender: 'ada' } as const;
      house.api.fetching = async () => {
        await house.store.ledger.forget(whose);
        throw new Error('a bug of the test');
      };
      const media = { type: 'image/png', reference: 'picture 1', file: '0/0' };
      const { client } = await house.api.ask({ user: 'ada' }, [media]);
      await until('the error', () => client.failed === 'deleted');
    });

    if (kind === 'memory') return;
    it('after a crash the message is abandoned, and no brain is asked again', async (place) => {
      const { brain, stops } = hanging();
      const dead = await openHouse(place);
      await dead.use(brain);
      const { id } = await dead.api.ask({});
      await until('the turn', () => stops.length === 1);
      // The same as a crash for the message: it is at work when the storage is opened again.
      await dead.store.ledger[Symbol.asyncDispose]();
      await using house = await openHouse(place);
      await house.use(brainOf(() => assert.fail('the brain was asked again')));
      assert.equal(await house.outcome(id), 'abandoned');
      await dead.store.reader[Symbol.asyncDispose]();
    });
  });
}

test('a reload lets requests under way finish, and the newest channel replies', async () => {
  await using house = await openHouse({ storage: null, url: null });
  const answered = Promise.withResolvers<Decision>();
  let begun = 0;
  await house.use(brainOf(() => (begun++, answered.promise)));
  const { client } = await house.api.ask({});
  await until('the turn', () => begun === 1);
  await house.use(brainOf(() => assert.fail('the new brain was asked')));
  answered.resolve(reply('of the old one'));
  await until('the reply', () => client.reply !== null);
  assert.equal(client.reply?.text, 'of the old one');
});

test('a configuration without the API still ends the requests of its clients', async () => {
  await using house = await openHouse({ storage: null, url: null });
  const answered = Promise.withResolvers<Decision>();
  let begun = 0;
  const brain = brainOf(() => (begun++, answered.promise));
  await house.use(brain);
  const { client } = await house.api.ask({});
  await until('the turn', () => begun === 1);
  const late = house.api.ask({});
  const hook = new FakePlatform();
  const without = new RunningConfig(
    'without',
    [routed('webhook', hook.channel(), brain)],
    brainsByName(brain),
  );
  assert.equal(await house.host.use(without), null);
  assert.deepEqual(
    without.channels.map(({ name }) => name),
    ['webhook'],
  );
  answered.resolve(reply('hi'));
  await until('the reply', () => client.reply !== null);
  const { client: other } = await within('the late one', late);
  await until('its end', () => other.reply !== null || other.failed !== null);
});

test('a brain that clients can no longer use answers no request', async () => {
  await using house = await openHouse({ storage: null, url: null });
  await house.use(brainOf(() => assert.fail('another brain was asked')));
  const { client, id } = await house.api.ask({ brain: 'gone' });
  await until('the error', () => client.failed === 'stopped');
  assert.equal(await house.outcome(id), 'abandoned');
});

test('the newest four pictures of a request are shown, older ones stay as words', async () => {
  await using house = await openHouse({ storage: null, url: null });
  const seen: Turn[] = [];
  await house.use(
    brainOf(async (turn) => {
      seen.push(turn);
      return reply('I see');
    }),
  );
  const picture = (n: number) => {
    house.api.files.set(`${n}`, Uint8Array.of(n));
    return { type: 'image/png', reference: `picture ${n}`, file: `${n}` };
  };
  const [own, second, third] = [picture(9), [picture(5), picture(6)], [picture(7), picture(8)]];
  const lines = [
    { role: 'user', text: 'one', media: second },
    { role: 'assistant', text: 'yes' },
    { role: 'user', text: 'two', media: third },
    { role: 'user', text: 'three', media: [own] },
  ] as const;
  const { client } = await house.api.ask({ lines, newest: 3, text: 'three' }, [own]);
  await until('the reply', () => client.reply !== null);
  const { given, attachments } = seen[0]!;
  const shown = given!.before.map((line) => {
    const bytes = 'pictures' in line ? line.pictures.map((one) => one.bytes[0]) : [];
    return [line.text, ...bytes];
  });
  assert.deepEqual(shown, [
    ['one\n[picture: picture 5: it is not shown to this model]', 6],
    ['yes'],
    ['two', 7, 8],
  ]);
  assert.deepEqual(
    attachments?.map(({ kind }) => kind),
    ['picture'],
  );
});

test('an unreadable picture of the newest message refuses the request', async () => {
  await using house = await openHouse({ storage: null, url: null });
  await house.use(brainOf(() => assert.fail('the brain was asked')));
  const broken = { type: 'image/png', reference: 'picture 1', file: 'none' };
  const { client } = await house.api.ask({}, [broken]);
  await until('the reply', () => client.reply !== null);
  assert.equal(client.ended?.kind === 'refused' && client.ended.fault, 'picture');
  assert.equal(client.reply?.isApology, true);
  assert.match(client.reply.text, /I cannot get files here/);
});

test('a request with tools that no model can call is refused for its tools', async () => {
  await using house = await openHouse({ storage: null, url: null });
  const facts = { rank: 0, startMs: 0, ms: 1, tries: [], linesDropped: 0, usage: null };
  await house.use(
    brainOf(async (_turn, turnContext) => {
      turnContext.addStep({ kind: 'model', model, ...facts, result: 'tools_unsupported' });
      return { kind: 'apology', apology: 'no_answer', why: 'it failed' };
    }),
  );
  const tools = [{ name: 'clock', description: '', parameters: {} }];
  const { client } = await house.api.ask({ tools });
  await until('the reply', () => client.reply !== null);
  assert.equal(client.ended?.kind === 'refused' && client.ended.fault, 'tools');
});

test("a reply of calls alone names the client's tools for the operator", async () => {
  await using house = await openHouse({ storage: null, url: null });
  const usage = { inputTokens: 7, outputTokens: 3 };
  const facts = { rank: 0, startMs: 0, ms: 1, tries: [], linesDropped: 0, usage };
  const calls = [{ id: 'a', name: 'clock', arguments: {} }];
  await house.use(
    brainOf(async (_turn, turnContext) => {
      turnContext.addStep({ kind: 'model', model, ...facts, result: 'answer' });
      return reply('', { calls });
    }),
  );
  const { client } = await house.api.ask({});
  await until('the reply', () => client.reply !== null);
  assert.equal(client.reply?.text, '[calls clock]');
  const { ended } = client;
  assert.ok(ended?.kind === 'decided' && ended.decision.kind === 'reply');
  assert.deepEqual([ended.decision.text, ended.decision.calls], ['', calls]);
  assert.deepEqual([ended.usage?.inputTokens, ended.usage?.outputTokens], [7, 3]);
});

test('a reply that was cut before its first word says so to the operator', async () => {
  await using house = await openHouse({ storage: null, url: null });
  await house.use(brainOf(async () => reply('', { isCut: true })));
  const { client } = await house.api.ask({});
  await until('the reply', () => client.reply !== null);
  assert.equal(client.reply?.text, '[cut off before its first word]');
  assert.ok(client.ended?.kind === 'decided' && client.ended.decision.kind === 'reply');
});

test('an agent that clients use finds no notes, keeps none, and can ask nobody', async () => {
  await withPlace('sqlite', async (place) => {
    await using house = await openHouse(place);
    const scope = { kind: 'brain', brain: 'main' } as const;
    const brain = brainOf(async ({ text }, turnContext) => {
      const notes = await turnContext.notes(scope);
      const note = { text, at: now(), sensitivity: 'public' } as const;
      turnContext.keep({ kind: 'add', scope, note, notesMax: 9 });
      const asked = await turnContext.ask({} as never);
      return reply(`${notes.map((one) => one.text).join()} ${asked}`);
    });
    const hook = new FakePlatform();
    const channels = [apiTo(house.api, brain), routed('webhook', hook.channel(), brain)];
    const config = new RunningConfig('both', channels, brainsByName(brain));
    assert.equal(await house.host.use(config), null);
    await hook.say('ada', 'of Ada');
    await until('the first reply', () => hook.delivered.length === 1);
    const { client } = await house.api.ask({ text: 'of a client' });
    await until('the reply', () => client.reply !== null);
    assert.equal(client.reply?.text, ' unread', 'the note of the brain is not there');
    await hook.say('ada', 'more');
    await until('the second reply', () => hook.delivered.length === 2);
    assert.match(hook.delivered[1]!.text, /^of Ada /, 'the client left no note');
  });
});
