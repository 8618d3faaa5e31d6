/** Which commands exist, how they are listed, and what asking again does. */
import { noStarts, type TurnRow } from '../domain/conversation.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../domain/message.ts';
import type { Memory } from '../ledger/ledger.ts';
import { commandsListed, noticesOf } from './offered-commands.ts';
import { decideSession, isCommand, retryOf, traceSession, type CommandsOn } from './sessions.ts';

const session = { triggers: ['/new'], dailyAtMinute: null, idleMinutes: 60, recallMax: 2 };
const nothing: CommandsOn = {
  session: null,
  notes: false,
  tools: false,
  approvals: false,
  messenger: false,
  retries: false,
  routeCommand: null,
};
const all: CommandsOn = {
  session,
  notes: true,
  tools: true,
  approvals: true,
  messenger: true,
  retries: true,
  routeCommand: null,
};
const bare: CommandsOn = { ...nothing, messenger: true };
const messageOf = (text: string, acceptedAt = 0): Message =>
  ({ text, acceptedAt, media: null }) as Message;
const turn = (text: string, reply: string | null, more: Partial<TurnRow> = {}): TurnRow => {
  return { at: 0, text, reply, sensitivity: 'public', ...more };
};
const memory = (...turns: readonly TurnRow[]): Memory => {
  const first = { number: 1, startedAt: 0 };
  return { session: first, turns, windows: noStarts, previousAt: 0, empty: turns.length === 0 };
};
const actOf = (text: string, on: CommandsOn, before = memory()) =>
  decideSession(messageOf(text), before, on).intent;

test('a button asks its own turn again, whatever else waits', () => {
  const [a, b] = [turn('A', null, { at: 17 }), turn('B', null, { at: 18 })];
  const before = memory(a, b, turn('C', 'c', { at: 19 }));
  assert.equal(retryOf(a), '/retry 17');
  for (const text of ['/retry 17', '/retry 17 ']) {
    assert.deepEqual(actOf(text, all, before), { kind: 'think', text: 'A', again: a });
  }
  for (const text of ['/retry', '/retry please', '/retry 17 18']) {
    assert.deepEqual(actOf(text, all, before), { kind: 'think', text: 'B', again: b });
  }
  for (const at of [19, 20]) {
    assert.deepEqual(actOf(`/retry ${at}`, all, before), { kind: 'retry', at });
  }
});

test('/start and /help are commands on every messenger, and nowhere else', () => {
  for (const word of ['start', 'help'] as const) {
    assert.deepEqual(actOf(`/${word}`, bare), { kind: word });
    assert.deepEqual(actOf(`/${word} payload`, bare), { kind: word });
    const text = `/${word}`;
    assert.deepEqual(actOf(text, nothing), { kind: 'think', text });
    assert.deepEqual(actOf(text, { ...all, messenger: false }), { kind: 'think', text });
    const triggers = { ...all, session: { ...session, triggers: [text] } };
    assert.deepEqual(actOf(text, triggers), { kind: 'begin' });
  }
});

test('a trigger wins over what svc would answer', () => {
  for (const text of ['/approve', '/refuse', '/retry']) {
    const on = { ...all, session: { ...session, triggers: [text] } };
    assert.deepEqual(actOf(text, on), { kind: 'begin' });
    const listed = commandsListed(on).filter(({ writes }) => writes === text);
    assert.equal(listed.length, 1);
  }
});

test('an approval with a code wins over a trigger', () => {
  for (const kind of ['approve', 'refuse'] as const) {
    const on = { ...all, session: { ...session, triggers: [`/${kind}`] } };
    for (const code of ['0123456789', 'abcdeFGHJK', 'OOOOOIIIII']) {
      assert.deepEqual(actOf(`/${kind} ${code}`, on), { kind, code });
      assert.deepEqual(actOf(` /${kind}   ${code}\n`, on), { kind, code });
      const none = { ...on, approvals: false };
      assert.deepEqual(actOf(`/${kind} ${code}`, none), { kind: 'think', text: code });
    }
    assert.deepEqual(actOf(`/${kind} of it`, on), { kind: 'think', text: 'of it' });
  }
});

test('what is told is what can be written here', () => {
  const words = (on: CommandsOn): readonly string[] => commandsListed(on).map((one) => one.writes);
  const six = ['/recall', '/notes', '/tools', '/approve', '/refuse', '/retry'];
  assert.deepEqual(words(all), ['/new', ...six, '/help']);
  assert.deepEqual(words(bare), ['/help']);
  assert.deepEqual(words({ ...bare, session: { ...session, recallMax: 0 } }), ['/new', '/help']);
  for (const { writes } of commandsListed(all)) assert.ok(isCommand(`${writes} x`, all), writes);
  for (const text of ['/weather', 'new', '', 'hello /new']) assert.ok(!isCommand(text, all), text);
  const odd = { ...bare, session: { ...session, triggers: ['again!', '/new'] } };
  const notices = noticesOf(odd, []);
  assert.deepEqual(
    notices.map(({ word, takesText }) => [word, takesText]),
    [
      ['new', true],
      ['recall', true],
      ['help', false],
    ],
  );
  const long = noticesOf(all, []).filter(({ description }) => description.length > 100);
  assert.deepEqual(long, []);
});

test('what is asked again is the last that a person said and nothing answered', () => {
  const lost = turn('and now?', null);
  const others = [turn('first', null), turn('hi', 'hello')];
  const after = [turn('q', null, { quoted: true }), turn('(approved: calc)', null), turn('', null)];
  const before = memory(...others, lost, ...after);
  const decision = decideSession(messageOf('/retry'), before, all);
  assert.deepEqual(decision.intent, { kind: 'think', text: 'and now?', again: lost });
  const step = traceSession(before, decision);
  assert.equal(step.kind === 'session' && step.command, 'retry');
  assert.deepEqual(actOf('/retry', all, memory(turn('hi', 'hello'))), { kind: 'retry', at: null });
  assert.deepEqual(actOf('/retry', bare, before), { kind: 'think', text: '/retry' });
  assert.deepEqual(
    actOf('/new /retry', all, before),
    { kind: 'retry', at: null },
    'the new session is empty',
  );
  const late = decideSession(messageOf('/retry', 10 ** 9), before, all);
  assert.deepEqual([late.move?.reason, late.intent.kind], ['idle', 'retry']);
});

test('a description of a route is cut to what every platform takes', () => {
  const ofRoutes = [{ writes: '/code', description: `Ask ${'x'.repeat(200)}` }];
  const [notice] = noticesOf(bare, ofRoutes);
  assert.deepEqual([notice?.word, notice?.description.length], ['code', 100]);
});

test('where there are more commands than a menu can show, those of svc are among the first', () => {
  const ofRoutes = Array.from({ length: 100 }, (_, at) => {
    return { writes: `/code${at}`, description: 'Ask the coder' };
  });
  const words = noticesOf(bare, ofRoutes).map(({ word }) => word);
  assert.deepEqual([words.length, ...words.slice(0, 3)], [101, 'help', 'code0', 'code1']);
  assert.equal(noticesOf(bare, ofRoutes.slice(1)).at(-1)!.word, 'help');
});
