import { noStarts } from '../domain/conversation.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as hold, constantFrom, integer, property } from 'fast-check';
import type { SessionConfig } from '../config/config.ts';
import type { Message } from '../domain/message.ts';
import type { Memory } from '../ledger/ledger.ts';
import { decideSession } from './sessions.ts';
import { runs } from '../../test/support/runs.ts';

const defaults: SessionConfig = {
  triggers: ['/new', '/reset'],
  dailyAtMinute: null,
  idleMinutes: 0,
  recallMax: 10,
};

const messageOf = (text: string, acceptedAt = 0, media: Message['media'] = null): Message =>
  ({ text, acceptedAt, media }) as Message;

const memory = (previousAt: number | null, empty = false): Memory => ({
  session: { number: 1, startedAt: 0 },
  turns: [],
  windows: noStarts,
  previousAt,
  empty,
});

const understood = (session: Partial<SessionConfig> | null, notes = false, tools = false) => ({
  session: session === null ? null : { ...defaults, ...session },
  notes,
  tools,
  approvals: false,
  messenger: false,
  retries: false,
  routeCommand: null,
});

const actOf = (text: string, of = understood({}, true, true)): unknown =>
  decideSession(messageOf(text), memory(null), of).intent;

test('without the session block nothing of it exists', () => {
  for (const text of ['/new', '/new hello', '/reset', '/recall 3', '/notes', '/tools']) {
    const decision = decideSession(messageOf(text, 10 ** 12), memory(0), understood(null));
    assert.deepEqual(decision, { move: null, intent: { kind: 'think', text } });
  }
});

test('a trigger alone begins a session, and svc says so', () => {
  for (const text of ['/new', '/reset', '  /new  ', '\n/new\n']) {
    const decision = decideSession(messageOf(text, 7), memory(3), understood({}));
    assert.deepEqual(decision, { move: { reason: 'command', at: 7 }, intent: { kind: 'begin' } });
  }
});

test('what stands behind a trigger is the first message of the new session', () => {
  const decision = decideSession(
    messageOf('/new  two  words\nand more', 7),
    memory(3),
    understood({}),
  );
  assert.deepEqual(decision.intent, { kind: 'think', text: 'two  words\nand more' });
  assert.equal(decision.move?.reason, 'command');
  const media = { type: 'image/png', reference: 'https://example.com/a.png' };
  const pictured = decideSession(messageOf('/new', 7, media), memory(3), understood({}));
  assert.deepEqual(pictured.intent, { kind: 'think', text: '' });
});

test('a command behind a trigger is one, of the new session; a second trigger is none', () => {
  const [move, all] = [{ reason: 'command', at: 7 }, understood({}, true, true)];
  const after = (text: string, of = all): unknown =>
    decideSession(messageOf(text, 7), memory(3), of);
  assert.deepEqual(after('/new /recall 2 '), { move, intent: { kind: 'recall', rest: '2' } });
  assert.deepEqual(after('/reset\n/notes'), { move, intent: { kind: 'notes', rest: '' } });
  assert.deepEqual(after('/new /tools'), { move, intent: { kind: 'tools' } });
  for (const text of ['/new', '/reset hi', 'please /recall', '/recalled']) {
    assert.deepEqual(after(`/new ${text}`), { move, intent: { kind: 'think', text } });
  }
  const none = after('/new /notes', understood({}));
  assert.deepEqual(none, { move, intent: { kind: 'think', text: '/notes' } });
});

test('a trigger is exactly the first word', () => {
  for (const text of ['/newer', '/New', 'please /new', '/new!', 'x/new', '']) {
    assert.deepEqual(decideSession(messageOf(text), memory(null), understood({})).move, null, text);
    assert.deepEqual(actOf(text), { kind: 'think', text }, text);
  }
  assert.equal(
    decideSession(messageOf('/new'), memory(3), understood({ triggers: [] })).move,
    null,
  );
  const other = understood({ triggers: ['restart'] });
  assert.equal(decideSession(messageOf('restart now'), memory(3), other).move?.reason, 'command');
});

test('commands are told with what stands behind them, and only where they exist', () => {
  assert.deepEqual(actOf('/recall'), { kind: 'recall', rest: '' });
  assert.deepEqual(actOf(' /recall  5 '), { kind: 'recall', rest: '5' });
  assert.deepEqual(actOf('/notes clear'), { kind: 'notes', rest: 'clear' });
  assert.deepEqual(actOf('/tools'), { kind: 'tools' });
  assert.deepEqual(actOf('/tools', understood({})), { kind: 'think', text: '/tools' });
  assert.deepEqual(actOf('/notes', understood({}, false, true)), { kind: 'think', text: '/notes' });
  const agentAlone = understood(null, true, true);
  assert.deepEqual(actOf('/recall', agentAlone), { kind: 'think', text: '/recall' });
  assert.deepEqual(actOf('/tools', agentAlone), { kind: 'tools' });
});

test('idle expiry is in whole minutes from message to message', () => {
  const idle = understood({ idleMinutes: 30 });
  const reasonAfter = (ms: number, empty = false): unknown =>
    decideSession(messageOf('hi', 5_000 + ms), memory(5_000, empty), idle).move?.reason ?? null;
  assert.equal(reasonAfter(30 * 60_000), 'idle');
  assert.equal(reasonAfter(30 * 60_000 - 1), null);
  assert.equal(reasonAfter(-(10 ** 9)), null, 'a clock set back is no time passed');
  assert.equal(reasonAfter(10 ** 9, true), null, 'an empty session has nothing to cut');
  assert.equal(decideSession(messageOf('hi', 10 ** 9), memory(null), idle).move, null);
});

test('a command cuts nothing, but an expiry comes before it', () => {
  const idle = understood({ idleMinutes: 1 });
  const decision = decideSession(messageOf('/recall', 60_000), memory(0), idle);
  assert.deepEqual(decision, {
    move: { reason: 'idle', at: 60_000 },
    intent: { kind: 'recall', rest: '' },
  });
});

/** Checks every minute between the two: did the wall clock show that time of day? */
function hasReached(previousAt: number, at: number, minute: number): boolean {
  const minuteOf = (t: Date): number => t.getHours() * 60 + t.getMinutes();
  const day = (t: Date): string => `${t.getFullYear()} ${t.getMonth()} ${t.getDate()}`;
  const reached = new Set<string>();
  const from = Math.floor(previousAt / 60_000) * 60_000 - 36 * 3_600_000;
  for (let t = from; t <= at; t += 60_000) {
    const shown = new Date(t);
    if (minuteOf(shown) < minute || reached.has(day(shown))) continue;
    // The first day of the scan begins in its middle, so the time may have been reached before.
    if (t > from + 25 * 3_600_000 && t > previousAt) return true;
    reached.add(day(shown));
  }
  return false;
}

const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo'];
const hour = 3_600_000;

/** The daylight-saving changes of 2025, by zone: the spring and the autumn of its hemisphere. */
const edges = [
  Date.UTC(2025, 2, 30, 1),
  Date.UTC(2025, 9, 26, 1),
  Date.UTC(2025, 2, 9, 7),
  Date.UTC(2025, 10, 2, 6),
  Date.UTC(2025, 3, 24, 22),
  Date.UTC(2025, 9, 30, 21),
  Date.UTC(2025, 3, 5, 15),
  Date.UTC(2025, 9, 4, 15, 30),
];

for (const zone of zones) {
  test(`expiry equals a minute-by-minute look at the wall clock, in ${zone}`, () => {
    const before = process.env['TZ'];
    process.env['TZ'] = zone;
    try {
      hold(
        property(
          constantFrom(...edges),
          integer({ min: -30 * 60, max: 30 * 60 }),
          // Sometimes the clock was set back between the two.
          integer({ min: -5 * 60, max: 30 * 60 }),
          integer({ min: 0, max: 24 * 60 - 1 }),
          integer({ min: 0, max: 20 * 60 }),
          (edge, offset, apart, minute, idleMinutes) => {
            const at = edge + offset * 60_000 + 17_000;
            const previousAt = at - apart * 60_000;
            const both = understood({ dailyAtMinute: minute, idleMinutes });
            const decision = decideSession(messageOf('hi', at), memory(previousAt), both);
            const idle = idleMinutes > 0 && apart >= idleMinutes ? 'idle' : null;
            const expected = hasReached(previousAt, at, minute) ? 'daily' : idle;
            assert.equal(decision.move?.reason ?? null, expected);
          },
        ),
        { numRuns: runs(100) },
      );
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
}

test('a message at the very boundary is of the new day, and so is the next', () => {
  const minute = 4 * 60;
  const daily = understood({ dailyAtMinute: minute });
  const boundary = new Date(2025, 5, 10, 0, minute).getTime();
  const reasonAt = (previousAt: number, at: number): unknown =>
    decideSession(messageOf('hi', at), memory(previousAt), daily).move?.reason ?? null;
  assert.equal(reasonAt(boundary - 1, boundary), 'daily');
  assert.equal(reasonAt(boundary - 2, boundary - 1), null);
  assert.equal(reasonAt(boundary, boundary), null);
  assert.equal(reasonAt(boundary, boundary + 23 * hour), null);
  assert.equal(reasonAt(boundary, boundary + 24 * hour), 'daily');
});

test('a day that passed is told before a quiet while', () => {
  const both = understood({ dailyAtMinute: 0, idleMinutes: 1 });
  const decision = decideSession(messageOf('hi', 100 * hour), memory(0), both);
  assert.equal(decision.move?.reason, 'daily');
});

test('a code is for svc alone where its command begins a session, too', () => {
  const of = { ...understood({ triggers: ['/approve'] }), approvals: true };
  for (const code of [
    'ABCDE12345',
    'abcde12345.',
    '`ABCDE12345`',
    'ABCDE12345 please',
    'it: ABCDE12345',
  ]) {
    const { move, intent } = decideSession(messageOf(`/approve ${code}`), memory(null), of);
    assert.deepEqual([move, intent], [null, { kind: 'approve', code }], code);
  }
  const other = decideSession(messageOf('/approve my plan'), memory(null), of);
  assert.deepEqual(other.intent, { kind: 'think', text: 'my plan' });
});
