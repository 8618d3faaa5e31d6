/**
 * A replay of outages and of false alarms. The real counters run on a clock of their own, and every
 * two seconds the page's rule says what the headline says. Each row has what must be said when.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { Replay, messenger, webhook, type Answer } from '../../../test/fake/replay.ts';
import { concernsOf } from './concerns.ts';
import { healthOf, type HealthWords } from './health.ts';

/** The promises, in milliseconds; all are seen by a page that asks every two seconds. */
const readMs = 2_000;
const promised = { namedMs: 15_000, redMs: 30_000, goodMs: 70_000, keptMs: 28_000 };

type Tone = HealthWords['tone'];
type Reading = { readonly at: number; readonly tone: Tone; readonly said: string };

/** When what breaks, breaks and heals. */
const breaks = 120_000;
const heals = 300_000;
const ends = 480_000;
const isBroken = (ms: number): boolean => ms >= breaks && ms < heals;

type Drive = (it: Replay, ms: number) => void;

/** Reads the headline every two seconds, and checks what holds for every replay. */
async function replay(drive: Drive): Promise<readonly Reading[]> {
  const it = new Replay();
  const readings: Reading[] = [];
  const sinces = new Map<string, number>();
  let shownAt = 0;
  while (it.ms < ends) {
    it.step();
    drive(it, it.ms);
    if (it.ms % readMs !== 0) continue;
    const status = await it.read();
    const { tone, words } = healthOf(status);
    const concerns = concernsOf(status, status.startedAt + status.uptimeMs);
    const said = [words, ...concerns.map(({ what }) => what)].join(' | ');
    checkSince(status, sinces, it.ms);
    const last = readings.at(-1);
    if (last !== undefined && last.tone !== tone) {
      const isBetter = grave.indexOf(tone) < grave.indexOf(last.tone);
      const text = `${said} replaces at ${it.ms} ms what was shown since ${shownAt} ms`;
      if (isBetter) assert.ok(it.ms - shownAt >= promised.keptMs, text);
      shownAt = it.ms;
    }
    readings.push({ at: it.ms, tone, said });
  }
  return readings;
}

const grave: readonly Tone[] = ['good', 'wait', 'bad'];

/** "Since" of a part never moves back, and stays while the part is in trouble. */
function checkSince(status: Status, sinces: Map<string, number>, ms: number): void {
  const parts = [
    ...(status.deliveries ?? []).map(({ channel, since }) => [`replies ${channel}`, since]),
    ...status.models.map(({ model, since }) => [model, since]),
    ...(status.answering ?? []).map(({ brain, since }) => [`brain ${brain}`, since]),
  ] as readonly (readonly [string, number | null])[];
  for (const [name, since] of parts) {
    const before = sinces.get(name) ?? 0;
    if (since === null) continue;
    assert.ok(since >= before, `${name}: since went back by ${before - since} at ${ms} ms`);
    sinces.set(name, since);
  }
}

/**
 * An outage: what is said, and whether it is red. `named`, `red`, `good`: other times than the
 * promised ones, with the reason in the name of the row.
 */
type Outage = {
  readonly named: RegExp;
  readonly tone: 'wait' | 'bad';
  readonly drive: Drive;
};

function outage(name: string, { named, tone, drive }: Outage): void {
  test(`outage: ${name}`, async () => {
    const readings = await replay(drive);
    const at = (from: number, to: number) =>
      readings.filter((one) => one.at >= from && one.at < to);
    for (const one of at(0, breaks)) assert.equal(one.tone, 'good', `before it: ${one.said}`);
    for (const one of at(breaks + promised.namedMs + readMs, heals)) {
      assert.match(one.said, named, `${one.at} ms: ${one.said}`);
      assert.notEqual(one.tone, 'good', `${one.at} ms: ${one.said}`);
    }
    for (const one of at(breaks + promised.redMs + readMs, heals)) {
      assert.equal(one.tone, tone, `${one.at} ms: ${one.said}`);
    }
    if (tone === 'wait') assert.ok(!readings.some((one) => one.tone === 'bad'), 'never red');
    for (const one of at(heals + promised.goodMs, ends)) {
      assert.equal(one.tone, 'good', `after it: ${one.at} ms: ${one.said}`);
    }
  });
}

/** A false alarm. @param says the notice that it may show, and must; null: "Working", always */
function falseAlarm(name: string, says: RegExp | null, drive: Drive): void {
  test(`false alarm: ${name}`, async () => {
    const readings = await replay(drive);
    for (const { at, tone, said } of readings) {
      assert.notEqual(tone, 'bad', `${at} ms: ${said}`);
      if (says === null) assert.equal(tone, 'good', `${at} ms: ${said}`);
    }
    if (says === null) return;
    const isSaid = readings.some(({ said }) => says.test(said));
    assert.ok(isSaid, [...new Set(readings.map(({ said }) => said))].join('\n'));
    assert.equal(readings.at(-1)!.tone, 'good');
  });
}

const every = (ms: number, now: number): boolean => now % ms === 0;

/** A reply every so many milliseconds. @param answers the receiver, when it is broken */
const replies = (
  everyMs: number,
  answers: (ms: number, at: number) => Answer,
  channel = webhook,
): Drive => {
  let count = 0;
  return (it, ms) => {
    if (!every(everyMs, ms)) return;
    const at = count++;
    it.reply(channel, (now) => (isBroken(now) ? answers(now, at) : 'arrives'));
  };
};

/** One of `of` is what the receiver does; the others arrive. */
const oneIn = (of: number, answer: Answer) => (_: number, at: number) =>
  at % of === 0 ? answer : 'arrives';

const none = /replies on webhook do not arrive/;

outage('a receiver that cannot be reached', {
  named: none,
  tone: 'bad',
  drive: replies(1_000, () => 'unreachable'),
});
outage('a receiver that answers 500 to every reply', {
  named: none,
  tone: 'bad',
  drive: replies(500, () => 500),
});
outage('a receiver that is silent', {
  named: none,
  tone: 'bad',
  drive: replies(1_000, () => 'silent'),
});
outage('a receiver that answers 503 while it starts', {
  named: none,
  tone: 'bad',
  drive: replies(2_000, () => 503),
});
outage('a receiver whose token was changed', {
  named: none,
  tone: 'bad',
  drive: replies(1_000, () => 401),
});
outage('a receiver whose address is gone', {
  named: none,
  tone: 'bad',
  drive: replies(1_000, () => 410),
});
outage('a receiver that refuses every reply with 422', {
  named: none,
  tone: 'bad',
  drive: replies(500, () => 422),
});
outage('a receiver that gets a reply every four seconds', {
  named: none,
  tone: 'bad',
  drive: replies(4_000, () => 'unreachable'),
});
outage('a receiver that refuses one reply in five with 422: a notice with its share', {
  named: /\d+ of \d+ tries to deliver on webhook were refused with 422 in the last minute/,
  tone: 'wait',
  drive: replies(1_000, oneIn(5, 422)),
});
outage('a receiver that answers 500 to every second reply', {
  named: /\d+ of \d+ tries to deliver on webhook failed with 500 in the last minute/,
  tone: 'wait',
  drive: replies(500, oneIn(2, 500)),
});

falseAlarm('one reply in fifty fails', null, replies(250, oneIn(50, 500)));
falseAlarm('one reply that is refused, and tried again by the schedule', null, (it, ms) => {
  if (every(1_000, ms)) it.reply(webhook, () => (ms === breaks ? 422 : 'arrives'));
});
const someFail = /some replies on webhook do not arrive/;
falseAlarm('a receiver that starts again within five seconds', someFail, (it, ms) => {
  if (!every(500, ms)) return;
  it.reply(webhook, (now) => (now >= breaks && now < breaks + 5_000 ? 'unreachable' : 'arrives'));
});
const sixOfThirty =
  /\d+ of \d+ tries to deliver on webhook were refused with 422 in the last minute/;
falseAlarm('six of thirty replies refused, each of its own conversation', sixOfThirty, (it, ms) => {
  if (!every(1_000, ms) || ms < breaks || ms >= breaks + 30_000) return;
  it.reply(webhook, () => ((ms / 1_000) % 5 === 0 ? 422 : 'arrives'));
});
falseAlarm(
  'a slow receiver that takes eight seconds',
  null,
  replies(4_000, () => 'slow'),
);
falseAlarm('one conversation whose replies are all refused', /refused with 413/, (it, ms) => {
  if (every(1_000, ms)) it.reply(webhook, () => 'arrives');
  if (every(10_000, ms)) it.reply(webhook, (now) => (isBroken(now) ? 413 : 'arrives'));
});
falseAlarm(
  'three people who blocked the bot, one after the other',
  /tries to deliver on/,
  (it, ms) => {
    if (every(5_000, ms))
      it.reply(messenger, () => (ms > breaks && ms <= breaks + 15_000 ? 403 : 'arrives'));
  },
);
let tries = 0;
const gateway = replies(500, () => (tries++ % 12 === 0 ? 502 : 'arrives'));
falseAlarm(
  'one gateway of twelve that answers 502, and the next one takes the reply',
  null,
  gateway,
);
falseAlarm('a receiver that comes and goes every four seconds', someFail, (it, ms) => {
  const isAway = (now: number): boolean => isBroken(now) && Math.floor(now / 4_000) % 2 === 0;
  if (every(500, ms)) it.reply(webhook, (now) => (isAway(now) ? 'unreachable' : 'arrives'));
});
falseAlarm('nobody writes at all', null, () => undefined);
