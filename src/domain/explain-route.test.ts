import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOf, type ChannelType } from '../channels/registry.ts';
import { describeCondition, explainRoutes, type GivenMessage } from './explain-route.ts';
import { chooseRoute, leadingCommand, type RouteCondition } from './routing.ts';

const anything = { senders: null, chats: null, topics: null, commands: null };

function when(condition: Partial<RouteCondition>): RouteCondition {
  return { ...anything, ...condition };
}

const routes = [
  { number: 1, brain: 'own', when: when({ senders: ['42'] }) },
  { number: 3, brain: 'coder', when: when({ chats: ['-100'], commands: ['/code', '/c'] }) },
  { number: 4, brain: 'topic', when: when({ chats: ['-100'], topics: ['7'] }) },
  { number: 6, brain: 'main', when: null },
];

const nothing: GivenMessage = { sender: null, chat: null, topic: null, text: null };

function explain(given: Partial<GivenMessage>, type: ChannelType = 'messenger_a', own = routes) {
  const channel = { placeOf: kindOf(type).placeOf, triggers: ['/new'] };
  return explainRoutes(own, { ...nothing, ...given }, channel);
}

function linesOf(given: Partial<GivenMessage>, type?: ChannelType): readonly string[] {
  const { routes: verdicts } = explain(given, type);
  return verdicts.map(({ number, verdict, why }) => `${number} ${verdict}: ${why}`);
}

test('each route before the one that is taken says why it is not', () => {
  assert.deepEqual(linesOf({ sender: '7', chat: '-100', topic: '8', text: 'hello' }), [
    '1 not_taken: the sender is not 42',
    '3 not_taken: the text does not begin with /code or /c',
    '4 not_taken: the topic is not 7',
    '6 taken: it takes every other message',
  ]);
  assert.deepEqual(linesOf({ sender: '7', chat: '-99', topic: '8', text: '/c@helper_bot hello' }), [
    '1 not_taken: the sender is not 42',
    '3 not_taken: the chat is not -100',
    '4 not_taken: the chat is not -100, and the topic is not 7',
    '6 taken: it takes every other message',
  ]);
});

test('the route that is taken says what holds, and those behind it are not reached', () => {
  const given = { sender: '7', chat: '-100', topic: '7', text: '/new /c hello' };
  assert.deepEqual(linesOf(given), [
    '1 not_taken: the sender is not 42',
    '3 taken: the chat is -100, and the text begins with /c',
    '4 not_reached: route 3 takes the message before',
    '6 not_reached: route 3 takes the message before',
  ]);
  assert.deepEqual(explain(given).taken, {
    number: 3,
    brain: 'coder',
    matched: [
      { key: 'chat', value: '-100' },
      { key: 'command', value: '/c' },
    ],
  });
});

test('a route that needs a fact that is missing is named, unless another condition fails', () => {
  assert.deepEqual(linesOf({ text: '/code hello' }), [
    '1 unknown: no sender is given; the route is taken if the sender is 42',
    '3 unknown: no chat is given; the route is taken if the chat is -100',
    '4 unknown: no chat and no topic is given; ' +
      'the route is taken if the chat is -100, and the topic is 7',
    '6 taken: it takes every other message',
  ]);
  const { routes: verdicts } = explain({ sender: '42x', chat: '-100', text: 'hello' });
  assert.deepEqual(
    verdicts.map(({ verdict, missing }) => [verdict, missing]),
    [
      ['not_taken', []],
      ['not_taken', []],
      ['unknown', ['topic']],
      ['taken', []],
    ],
  );
});

test('a topic may stand in the id of the conversation, and a thread of Discord is a chat', () => {
  assert.equal(explain({ sender: '1', chat: '-100:7', text: '' }).taken?.number, 4);
  const thread = [
    { number: 1, brain: 'thread', when: when({ chats: ['900'], topics: ['900'] }) },
    { number: 2, brain: 'channel', when: when({ chats: ['800'] }) },
    { number: 3, brain: 'main', when: null },
  ];
  const takenIn = (given: Partial<GivenMessage>) =>
    explain(given, 'messenger_b', thread).taken?.number;
  assert.equal(takenIn({ chat: '800', topic: '900' }), 1);
  assert.equal(takenIn({ chat: '800', topic: '901' }), 2);
  assert.equal(takenIn({ chat: '801' }), 3);
});

test('with every fact given, the explanation takes the route that svc takes', () => {
  for (const sender of ['42', '7']) {
    for (const chat of ['-100', '-99']) {
      for (const topic of ['7', '8']) {
        for (const text of ['/code x', '/new /c x', '/coder x', 'x', '']) {
          const command = leadingCommand(text, ['/new'])?.command ?? null;
          const chosen = chooseRoute(routes, () => ({ sender, chats: [chat], topic, command }))!;
          const { taken } = explain({ sender, chat, topic, text });
          const { number, brain } = chosen.route;
          assert.deepEqual(taken, { number, brain, matched: chosen.matched });
        }
      }
    }
  }
});

test('a condition in words names at most six entries, and counts the rest', () => {
  assert.equal(describeCondition(null), 'every other message');
  const commands = when({ senders: ['1', '2'], commands: ['/a'] });
  const words = 'the sender is 1 or 2, and the text begins with /a';
  assert.equal(describeCondition(commands), words);
  const many = when({ senders: ['1', '2', '3', '4', '5', '6', '7', '8', '9'] });
  assert.equal(describeCondition(many), 'the sender is 1, 2, 3, 4, 5, 6 or one of 3 more');
  const seven = when({ topics: ['1', '2', '3', '4', '5', '6', '7'] });
  assert.equal(describeCondition(seven), 'the topic is 1, 2, 3, 4, 5, 6 or 7');
});
