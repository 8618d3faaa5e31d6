/** Which route a message takes, and what an edit takes from the message that it changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeRoute, brainsByName } from '../../test/fake/channel.ts';
import type { Brain } from '../brains/brain.ts';
import type { Receipt } from '../channels/channel.ts';
import type { ChannelKey, ConversationId, MessageId } from '../domain/ids.ts';
import type { Inbound, Message } from '../domain/message.ts';
import type { RouteCondition } from '../domain/routing.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { BrainRoute } from './deps.ts';
import {
  activeRouteOf,
  RecentMessages,
  routeCommandsOn,
  Routing,
  strictestOf,
  traceRoute,
} from './route.ts';

const bot = 'messenger_a:77' as ChannelKey;
const inboundOf = (more: Partial<Inbound>): Inbound => ({
  channel: bot,
  conversation: 'ann' as ConversationId,
  sender: { id: 'ann', name: null },
  text: 'hello',
  media: null,
  address: { channel: bot, target: 'ann' },
  dedupeKey: 'q1',
  setting: 'direct',
  ...more,
});
const edit = inboundOf({ dedupeKey: 'edit:q1', apart: 'edit', edits: 'q1' });
const receiptOf = (duplicate = false): Receipt => {
  return { id: 'm1' as MessageId, duplicate, keyReused: false, safe: Promise.resolve() };
};
/** What this process remembers, and its routing to a brain with this sensitivity. */
const setup = (since: string | null, sensitivity: Sensitivity = 'public') => {
  const recent = new RecentMessages({ cursor: () => Promise.resolve(since) });
  const brain = { name: 'main', sensitivity } as Brain;
  const routing = new Routing(activeRoute(brain), recent);
  const take = (one: Inbound, receipt = receiptOf()): void =>
    routing.route([one]).forEach((routed) => routing.accepted(routed, receipt));
  const labelOf = async (one: Inbound) => (await recent.labelEdits(bot, [one]))[0]?.sensitivity;
  return { take, labelOf };
};

test('an edit is public where this process took its message in as public', async () => {
  const it = setup(null);
  it.take(inboundOf({}));
  assert.equal(await it.labelOf(edit), 'public');
  assert.equal(await it.labelOf({ ...edit, edits: 'q2' }), 'private');
});

test('an edit is private where its message was, or was a duplicate, or came before', async () => {
  const [privately, again] = [setup(null, 'private'), setup(null)];
  privately.take(inboundOf({}));
  again.take(inboundOf({}), receiptOf(true));
  for (const it of [privately, again, setup(null)]) assert.equal(await it.labelOf(edit), 'private');
});

test('of an unknown message the time decides when it was said', async () => {
  const { labelOf } = setup('1000000');
  for (const [at, sensitivity] of [
    [1_000_000, 'private'],
    [2_000_000, 'public'],
  ] as const) {
    const one = { ...edit, saidAt: { at, stepMs: 1 } };
    assert.equal(await labelOf(one), sensitivity);
  }
  assert.equal(await labelOf(edit), 'private');
  assert.equal(await labelOf(inboundOf({})), undefined);
});

test('the oldest messages are forgotten', async () => {
  const it = setup(null);
  for (let n = 0; n <= 5_000; n++) it.take(inboundOf({ dedupeKey: `q${n}` }));
  assert.equal(await it.labelOf({ ...edit, edits: 'q0' }), 'private');
  assert.equal(await it.labelOf(edit), 'public');
});

// Several brains.

const brainOf = (name: string, sensitivity: Sensitivity = 'public') =>
  ({ name, sensitivity }) as Brain;
const [code, main, own] = [brainOf('code'), brainOf('main'), brainOf('own', 'private')];
const all = brainsByName(code, main, own);
const nothing = { senders: null, chats: null, topics: null, commands: null };
type Rule = Partial<RouteCondition> & { readonly to: Brain; readonly description?: string };

/** The routes in this order; the last one has no conditions. */
function routesTo(...rules: readonly Rule[]): readonly BrainRoute[] {
  return rules.map(({ to, description = null, ...when }, at) => {
    const isLast = at === rules.length - 1;
    return {
      number: at + 1,
      brain: to,
      when: isLast ? null : { ...nothing, ...when },
      description,
    };
  });
}
const byCommand: Rule = { to: code, commands: ['/code'] };
const rest: Rule = { to: main };

/** A channel with these routes, and what the process remembers of earlier messages. */
function channelWith(routes: readonly BrainRoute[], recent = remembering()) {
  const channel = activeRoute(main, { name: 'messenger_a', routes, brains: all });
  const routing = new Routing(channel, recent);
  /** Accepts the messages in one batch. */
  const take = (...batch: readonly Partial<Inbound>[]): readonly string[] => {
    const routed = routing.route(batch.map(inboundOf));
    for (const one of routed) routing.accepted(one, receiptOf());
    return routed.map(({ route }) => route!.brain);
  };
  return { channel, routing, recent, take };
}
const remembering = () => new RecentMessages({ cursor: () => Promise.resolve(null) });
const kept = (more: Partial<Message>) => ({ ...inboundOf({}), ...more }) as Message;

test('a message gets its route and the label of its brain', () => {
  const { routing } = channelWith(routesTo({ to: own, senders: ['eve'] }, rest));
  const [ofEve, ofAnn] = routing.route([
    inboundOf({ sender: { id: 'eve', name: null } }),
    inboundOf({}),
  ]);
  const matched = [{ key: 'sender', value: 'eve' }];
  assert.deepEqual(
    [ofEve?.route, ofEve?.sensitivity],
    [{ number: 1, brain: 'own', matched }, 'private'],
  );
  assert.deepEqual(
    [ofAnn?.route, ofAnn?.sensitivity],
    [{ number: 2, brain: 'main', matched: [] }, 'public'],
  );
  const [labelled] = routing.route([inboundOf({ sensitivity: 'private' })]);
  assert.equal(labelled?.sensitivity, 'private', 'a public route weakens no label');
});

test('a chat fits by its id, by a former id of it, and by its topic', () => {
  const { take } = channelWith(
    routesTo({ to: code, chats: ['-5'], topics: ['9'] }, { to: own, chats: ['-5'] }, rest),
  );
  const conversation = (id: string) => ({ conversation: id as ConversationId });
  const former = { ...conversation('-1001'), chatAliases: ['-5'] };
  const batch = [conversation('-5:9'), conversation('-5'), former, conversation('-1001')];
  assert.deepEqual(take(...batch), ['code', 'own', 'own', 'main']);
});

test('an accepted message keeps its route, however the routes change', () => {
  const { channel } = channelWith(routesTo({ ...byCommand, to: own }, rest));
  const message = kept({ text: '/code x', route: { number: 1, brain: 'code', matched: [] } });
  assert.equal(activeRouteOf(channel, message).brain, code);
  assert.equal(activeRouteOf(channel, message).taken, message.route);
});

test('a message takes a route anew if it has none, or its brain is gone', () => {
  const { channel } = channelWith(routesTo(byCommand, rest));
  const gone = { number: 1, brain: 'gone', matched: [] };
  for (const route of [undefined, gone]) {
    const old = (text: string) => kept({ text, ...(route && { route }) });
    assert.deepEqual(activeRouteOf(channel, old('hello')).taken.brain, 'main');
    assert.deepEqual(activeRouteOf(channel, old('/code x')).taken.number, 1);
  }
});

test('the trace has a step where there was a choice', () => {
  const { channel } = channelWith(routesTo(byCommand, rest));
  const matched = [{ key: 'command', value: '/code' }];
  const stepOf = (text: string) => traceRoute(activeRouteOf(channel, kept({ text })));
  assert.deepEqual(stepOf('/code x'), [{ kind: 'route', number: 1, matched }]);
  assert.deepEqual(stepOf('hello'), [{ kind: 'route', number: 2, matched: [] }]);
  const only = channelWith(routesTo(rest)).channel;
  assert.deepEqual(traceRoute(activeRouteOf(only, kept({}))), []);
  const follows = { number: 0, brain: 'main', matched: [] };
  assert.deepEqual(traceRoute(activeRouteOf(channel, kept({ route: follows }))), []);
});

test('an edit keeps the route of its message, also when the routes have changed', () => {
  const { take, recent } = channelWith(routesTo(byCommand, rest));
  assert.deepEqual(take({ text: '/code x' }), ['code']);
  const edited = { dedupeKey: 'edit:q1', apart: 'edit', edits: 'q1' } as const;
  assert.deepEqual(take({ ...edited, text: 'y' }), ['code']);
  const changed = channelWith(routesTo({ ...byCommand, to: own }, rest), recent);
  assert.deepEqual(changed.take({ ...edited, text: '/code y' }), ['code']);
  assert.deepEqual(changed.take({ ...edited, edits: 'q2', text: '/code y' }), ['own']);
});

test('an album takes one route: of the part with the command, else of the first', () => {
  let n = 0;
  const part = (text: string, key: string, id = 'ann') => ({
    text,
    dedupeKey: `q${++n}`,
    sender: { id, name: null },
    gather: { kind: 'album', ms: 500, key } as const,
  });
  const { take } = channelWith(routesTo(byCommand, rest));
  const album = [part('', 'a'), part('/code this', 'a'), part('', 'a')];
  assert.deepEqual(take(...album), ['code', 'code', 'code']);
  assert.deepEqual(take(part('', 'a')), ['code'], 'a later batch brings the rest of it');
  assert.deepEqual(take(part('', 'b'), part('', 'b')), ['main', 'main']);
  assert.deepEqual(take(part('/code', 'c'), part('', 'c', 'eve')), ['code', 'main']);
});

const saidAt = (seconds: number) => ({ saidAt: { at: seconds * 1_000, stepMs: 1_000 } });

test('the rest of a text that the client has cut takes the route of its beginning', () => {
  const long = `/code ${'x'.repeat(4_000)}`;
  const take = (...batch: readonly Partial<Inbound>[]) =>
    channelWith(routesTo(byCommand, rest)).take(...batch);
  const end = { text: 'the end', ...saidAt(11) };
  assert.deepEqual(take({ text: long, ...saidAt(10) }, end), ['code', 'code']);
  assert.deepEqual(
    take({ text: '/code x', ...saidAt(10) }, end),
    ['code', 'main'],
    'it was not cut',
  );
  assert.deepEqual(take({ text: long, ...saidAt(1) }, end), ['code', 'main'], 'it came too late');
  const others = { ...end, sender: { id: 'eve', name: null } };
  assert.deepEqual(take({ text: long, ...saidAt(10) }, others), ['code', 'main']);
  const plain = { text: 'x'.repeat(4_000), ...saidAt(10) };
  assert.deepEqual(take(plain, { text: '/code y', ...saidAt(11) }), ['main', 'code']);
  const { take: one } = channelWith(routesTo(byCommand, rest));
  assert.deepEqual(
    [one({ text: long, ...saidAt(10) }), one(end)],
    [['code'], ['code']],
    'in two batches',
  );
});

test('forwarded messages take the route of their comment', () => {
  const { take } = channelWith(routesTo(byCommand, rest));
  const forwarded = { context: { forwardedFrom: 'Bob' }, text: 'look', ...saidAt(10) };
  const comment = { text: '/code explain', ...saidAt(10) };
  assert.deepEqual(take(comment, forwarded, forwarded), ['code', 'code', 'code']);
  assert.deepEqual(take({ text: 'hello', ...saidAt(20) }), ['main']);
  assert.deepEqual(take({ ...forwarded, ...saidAt(60) }), ['main']);
});

test('a message of which the ledger has another copy says nothing about later ones', () => {
  const { routing, take } = channelWith(routesTo(byCommand, rest));
  const [routed] = routing.route([inboundOf({ text: '/code x', ...saidAt(10) })]);
  routing.accepted(routed!, receiptOf(true));
  const forwarded = { context: { forwardedFrom: 'Bob' }, ...saidAt(10) };
  assert.deepEqual(take(forwarded), ['main']);
  const edited = { dedupeKey: 'edit:q1', apart: 'edit', edits: 'q1' } as const;
  assert.deepEqual(take(edited), ['main']);
});

test('a channel is as private as the strictest brain of its routes', () => {
  assert.equal(strictestOf({ routes: routesTo(byCommand, rest) }), 'public');
  assert.equal(strictestOf({ routes: routesTo({ ...byCommand, to: own }, rest) }), 'private');
});

test('the commands of routes are told with their descriptions, to those who may use them', () => {
  const { channel } = channelWith(
    routesTo(
      { to: code, commands: ['/code', '/debug'], description: 'Ask about code' },
      { to: own, commands: ['/pay', '/code'], senders: ['boss'] },
      rest,
    ),
  );
  const ofAll = routeCommandsOn(channel, null).map(
    ({ writes, description }) => `${writes} ${description}`,
  );
  assert.deepEqual(ofAll, ['/code Ask about code', '/debug Ask about code', '/pay Ask own']);
  const wordsFor = (id: string) =>
    routeCommandsOn(channel, inboundOf({ sender: { id, name: null } })).map(({ writes }) => writes);
  assert.deepEqual(wordsFor('boss'), ['/code', '/debug', '/pay']);
  assert.deepEqual(wordsFor('ann'), ['/code', '/debug']);
});

test('a command is known where its route may be taken', () => {
  const { routing } = channelWith(routesTo({ ...byCommand, senders: ['boss'] }, rest));
  const knows = (id: string, text: string) =>
    routing.hasCommand(inboundOf({ text, sender: { id, name: null } }));
  assert.deepEqual(
    [knows('boss', '/code x'), knows('boss', '/weather'), knows('ann', '/code x')],
    [true, false, false],
  );
});

// The parts of one message.

const byPlan: Rule = { to: own, commands: ['/plan'] };
/** The brains of these batches, by two commands and a route for all other messages. */
function brainsOf(...batches: readonly (readonly Partial<Inbound>[])[]): readonly string[][] {
  const { take } = channelWith(routesTo(byCommand, byPlan, rest));
  return batches.map((batch) => [...take(...batch.map((one) => ({ ...saidAt(10), ...one })))]);
}
const forwarded = { context: { forwardedFrom: 'Bob' } };
const gather = { kind: 'album', key: 'a', ms: 1_000 } as const;
const media = { type: 'image/jpeg', reference: 'photo' };

test('a text may be cut soon behind the middle, and its rest is a text of the author', () => {
  const begun = { text: `/code ${'x'.repeat(2_100)}` };
  const end = { text: 'the end', ...saidAt(12) };
  assert.deepEqual(brainsOf([begun, end]), [['code', 'code']]);
  const forwardedLong = { ...forwarded, text: 'y'.repeat(4_096) };
  for (const [before, other] of [
    [begun, { ...end, media }],
    [begun, { ...end, apart: 'edit' as const }],
    [forwardedLong, end],
  ] as const) {
    const [brains] = brainsOf([{ text: '/code it' }, before, other]);
    assert.deepEqual(brains, ['code', 'code', 'main']);
  }
});

test('what is forwarded goes where its comment went, or where its own command sends it', () => {
  const comment = { text: '/code what is this?' };
  const texts = ['one', '/plan two'].map((text) => ({ ...forwarded, text, ...saidAt(11) }));
  const photos = ['', ''].map((text) => ({ ...forwarded, text, gather, media }));
  assert.deepEqual(brainsOf([comment, ...texts]), [['code', 'code', 'code']]);
  assert.deepEqual(brainsOf([comment], texts), [['code'], ['code', 'code']]);
  assert.deepEqual(brainsOf([comment, ...photos]), [['code', 'code', 'code']]);
  assert.deepEqual(brainsOf([{ text: 'and this?' }, ...texts]), [['main', 'main', 'own']]);
  const edited = { text: '/code else', apart: 'edit' as const, edits: 'unknown' };
  assert.deepEqual(brainsOf([edited], texts), [['code'], ['main', 'own']], 'an edit is none');
});

test('a part of an album that comes late goes where the part with the command went', () => {
  const part = { text: '', gather, media };
  const caption = { ...part, text: '/code look' };
  const late = { ...part, ...saidAt(19) };
  assert.deepEqual(brainsOf([caption], [late]), [['code'], ['code']]);
  assert.deepEqual(brainsOf([part], [caption, late]), [['main'], ['code', 'code']]);
  const other = { ...late, gather: { ...gather, key: 'b' } };
  assert.deepEqual(brainsOf([caption], [other]), [['code'], ['main']]);
});
