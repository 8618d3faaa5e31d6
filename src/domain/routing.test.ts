/** Which route a message takes, and what a command of a route is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chooseRoute,
  describeRoute,
  leadingCommand,
  matchesOf,
  routeCommandOf,
  type RouteCondition,
  type RouteFacts,
} from './routing.ts';

const nothing: RouteFacts = { sender: '7', chats: ['7'], topic: null, command: null };
const when = (more: Partial<RouteCondition>): RouteCondition => {
  return { senders: null, chats: null, topics: null, commands: null, ...more };
};
/** The place of the route that is taken, and what held. */
const taken = (all: readonly (Partial<RouteCondition> | null)[], facts: Partial<RouteFacts>) => {
  const routes = all.map((one, at) => ({ at, when: one && when(one) }));
  const chosen = chooseRoute(routes, () => ({ ...nothing, ...facts }));
  return chosen && [chosen.route.at, ...chosen.matched.map(({ key, value }) => `${key} ${value}`)];
};

test('the first route that fits is taken, and the one without conditions takes the rest', () => {
  const routes = [{ senders: ['1'] }, { senders: ['1', '2'] }, null];
  assert.deepEqual(taken(routes, { sender: '1' }), [0, 'sender 1']);
  assert.deepEqual(taken(routes, { sender: '2' }), [1, 'sender 2']);
  assert.deepEqual(taken(routes, { sender: '3' }), [2]);
  assert.deepEqual(taken([null, { senders: ['1'] }], { sender: '1' }), [0]);
  assert.equal(taken([{ senders: ['1'] }], { sender: '2' }), null);
});

test('all given keys must hold, and within a key one entry is enough', () => {
  const routes = [{ senders: ['1', '2'], chats: ['-5', '-6'], topics: ['9'] }, null];
  const facts = { sender: '2', chats: ['-6'], topic: '9' };
  assert.deepEqual(taken(routes, facts), [0, 'sender 2', 'chat -6', 'topic 9']);
  assert.deepEqual(taken(routes, { ...facts, sender: '3' }), [1]);
  assert.deepEqual(taken(routes, { ...facts, chats: ['-7'] }), [1]);
  assert.deepEqual(taken(routes, { ...facts, topic: null }), [1]);
});

test('a chat fits by each of its ids, and that id is named', () => {
  const chats = ['-1001', '-5'];
  assert.deepEqual(taken([{ chats: ['-5'] }, null], { chats }), [0, 'chat -5']);
  assert.deepEqual(taken([{ chats: ['-5', '-1001'] }, null], { chats }), [0, 'chat -1001']);
});

test('ids are compared as texts: none fits by its beginning or its number', () => {
  for (const sender of ['1', '0123', '123 ', '1234', '1.23e2']) {
    assert.deepEqual(taken([{ senders: ['123'] }, null], { sender }), [1], sender);
  }
});

test('an empty condition holds for every message', () => {
  assert.deepEqual(taken([{}, null], {}), [0]);
  assert.deepEqual(matchesOf(when({}), nothing), []);
});

test('the facts of a message are gathered once, and only for a condition', () => {
  let gathered = 0;
  const factsOf = () => {
    gathered++;
    return nothing;
  };
  chooseRoute([{ when: null }, { when: when({ senders: ['7'] }) }], factsOf);
  assert.equal(gathered, 0);
  chooseRoute(
    [when({ senders: ['1'] }), when({ senders: ['2'] })].map((one) => ({ when: one })),
    factsOf,
  );
  assert.equal(gathered, 1);
});

test('a command is the first token, and may name the bot', () => {
  for (const [text, rest] of [
    ['/code', ''],
    ['/code fix this', 'fix this'],
    [' \n/code\tfix\nthis ', 'fix\nthis '],
    ['/code@helper_bot fix', 'fix'],
  ] as const) {
    assert.deepEqual(leadingCommand(text, []), { command: '/code', rest }, text);
  }
  for (const text of [
    '',
    ' ',
    'code',
    '//code',
    '/',
    '/@bot',
    '/Code',
    '/co-de',
    'so /code',
    '/é',
  ]) {
    assert.equal(leadingCommand(text, []), null, text);
  }
  assert.equal(leadingCommand(`/${'a'.repeat(32)}`, [])?.command.length, 33);
  assert.equal(leadingCommand(`/${'a'.repeat(33)}`, []), null);
});

test('behind a trigger the next token counts, and only that one', () => {
  const triggers = ['/new', 'again'];
  assert.deepEqual(leadingCommand('/new /code fix', triggers), { command: '/code', rest: 'fix' });
  assert.equal(leadingCommand('again /code', triggers)?.command, '/code');
  assert.equal(leadingCommand('/new', triggers), null);
  assert.equal(leadingCommand('/new fix /code', triggers), null);
  assert.equal(leadingCommand('/new /code', [])?.command, '/new');
});

test('a command that no route has falls through', () => {
  const routes = [{ commands: ['/code', '/debug'] }, null];
  assert.deepEqual(taken(routes, { command: '/debug' }), [0, 'command /debug']);
  assert.deepEqual(taken(routes, { command: '/weather' }), [1]);
  assert.deepEqual(taken(routes, { command: null }), [1]);
});

test('a route is told with what held, and without the ids that a reader may not see', () => {
  const matched = [
    { key: 'chat', value: '-100' },
    { key: 'command', value: '/code' },
  ] as const;
  assert.equal(describeRoute({ number: 3, matched }), 'route 3: chat -100, command /code');
  assert.equal(describeRoute({ number: 4, matched: [] }), 'route 4: every other message');
  const hidden = [{ key: 'chat', value: null }] as const;
  assert.equal(describeRoute({ number: 3, matched: hidden }), 'route 3: chat');
  assert.equal(routeCommandOf({ matched }), '/code');
  for (const route of [undefined, { matched: [] }, { matched: hidden }]) {
    assert.equal(routeCommandOf(route), null);
  }
});
