/**
 * A replay of outages and of false alarms. The real counters run on a clock of their own, and every
 * two seconds the page's rule says what the headline says. Each row has what must be said when.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import type { ModelName } from '../../../src/domain/ids.ts';
import {
  Replay,
  big,
  messenger,
  small,
  webhook,
  type Answer,
  type Brain,
} from '../../../test/fake/replay.ts';
import { concernsOf } from './concerns.ts';
import { healthOf, type HealthWords } from './health.ts';

/** The promises, in milliseconds; all are seen by a page that asks every two seconds. */
const readMs = 2_000;
const promised = { namedMs: 15_000, redMs: 30_000, goodMs: 70_000, keptMs: 28_000 };

type Tone = HealthWords['tone'];
type Reading = { readonly at: number; readonly tone: Tone; readonly said: string };

/** When what breaks, breaks and heals. */
const breaks = 120_000;
let heals = 300_000;
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

/** An outage: what is said, in the headline or below, and whether it is red. */
type Outage = {
  readonly named: RegExp;
  readonly tone: 'wait' | 'bad';
  /** How long it lasts: three minutes. */
  readonly lastsMs?: number;
  readonly drive: Drive;
};

function outage(name: string, { named, tone, lastsMs = 180_000, drive }: Outage): void {
  test(`outage: ${name}`, async () => {
    heals = breaks + lastsMs;
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
    heals = breaks + 180_000;
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
outage('a receiver that starts again, in twenty seconds', {
  named: none,
  tone: 'bad',
  lastsMs: 20_000,
  drive: replies(1_000, () => 'unreachable'),
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
falseAlarm('one try that hangs', null, (it, ms) => {
  if (every(4_000, ms)) it.reply(webhook, (now) => (now === breaks ? 'silent' : 'arrives'));
});

// Models and brains.

type Result = 'answer' | FailureKind;
type Results = (model: ModelName, ms: number) => Result | readonly [Result, number];

/** A message every so many milliseconds. @param results of calls that begin while it is broken */
const messages = (brain: Brain, everyMs: number, results: Results): Drive => {
  return (it, ms) => {
    if (!every(everyMs, ms)) return;
    it.message(brain, (model, now) => {
      const result = isBroken(now) ? results(model, now) : 'answer';
      return typeof result === 'string' ? [result, 250] : result;
    });
  };
};

const unanswered = /no model answers for brain main/;

outage('a model that cannot be reached', {
  named: unanswered,
  tone: 'bad',
  drive: messages('main', 1_000, () => 'connect_failed'),
});
outage('a model that answers 500 to a message every three seconds', {
  named: /brain main/,
  tone: 'bad',
  drive: messages('main', 3_000, () => 'server_error'),
});
outage('a model that starts again, in twenty seconds', {
  named: unanswered,
  tone: 'bad',
  lastsMs: 20_000,
  drive: messages('main', 250, () => 'connect_failed'),
});
outage('a model whose key is refused', {
  named: unanswered,
  tone: 'bad',
  drive: messages('main', 1_000, () => 'unauthorized'),
});
outage('a model that is silent until its connections break', {
  named: unanswered,
  tone: 'bad',
  drive: messages('main', 1_000, (_, ms) => ['connection_lost', Math.min(60_000, heals - ms)]),
});
outage('a model that is asked every ten seconds', {
  named: /brain main/,
  tone: 'bad',
  drive: messages('main', 10_000, () => 'connect_failed'),
});
outage('the first model of a brain, in whose place the second one answers', {
  named: /^Working, but big \(OpenAI API\) does not answer/,
  tone: 'wait',
  drive: messages('open', 1_000, (model) => (model === big ? 'connect_failed' : 'answer')),
});
outage('both models of a brain', {
  named: /brain open/,
  tone: 'bad',
  drive: messages('open', 2_000, () => 'server_error'),
});
let calls = 0;
outage('a model that fails at every second call', {
  named: /some messages get no answer from brain main/,
  tone: 'wait',
  drive: messages('main', 1_000, () => (calls++ % 2 === 0 ? 'server_error' : 'answer')),
});
outage('a model that its provider no longer lets be asked at all', {
  named: /brain main/,
  tone: 'bad',
  drive: (it, ms) => {
    // After the outage nobody writes: what is no longer asked is no longer in trouble.
    if (ms < heals) messages('main', 2_000, () => 'no_credit')(it, ms);
  },
});
outage('a runtime that is stopped, and that a probe finds again', {
  named: unanswered,
  tone: 'bad',
  drive: (it, ms) => {
    if (ms < heals) messages('main', 1_000, () => 'connect_failed')(it, ms);
    if (ms === heals + 250) it.probe(small, 'there');
  },
});

let slips = 0;
const slip = messages('main', 1_000, () => (slips++ % 40 === 0 ? 'server_error' : 'answer'));
falseAlarm('one call in forty fails', null, slip);
falseAlarm(
  'clients that give their requests up',
  null,
  messages('main', 500, () => 'cancelled'),
);
const long = messages('main', 1_000, () => 'context_overflow');
falseAlarm('conversations that are too long for the model', null, long);
falseAlarm(
  'calls that do not fit a budget',
  null,
  messages('main', 1_000, () => 'over_budget'),
);
falseAlarm(
  'a slow model',
  null,
  messages('main', 3_000, () => ['answer', 9_000]),
);
falseAlarm('a model that starts again within five seconds', /brain main/, (it, ms) => {
  const isAway = ms < breaks + 5_000;
  messages('main', 1_000, () => (isAway ? 'connect_failed' : 'answer'))(it, ms);
});
const halts = /^Working, but big \(OpenAI API\) fails at some calls/;
let asked = 0;
falseAlarm(
  'a model that is busy at every third call, and another one answers',
  halts,
  messages('open', 1_000, (model) =>
    model === big && asked++ % 3 === 0 ? 'overloaded' : 'answer',
  ),
);
falseAlarm('three calls in a row that fail, of four a second', null, (it, ms) => {
  const isSlip = ms >= breaks && ms < breaks + 750;
  messages('main', 250, () => (isSlip ? 'server_error' : 'answer'))(it, ms);
});
falseAlarm('a model that is asked once, after minutes of silence', null, (it, ms) => {
  if (ms === ends - 60_000) it.message('main', () => ['answer', 4_000]);
});

// Channels and the storage.

const during = (act: (it: Replay, breaksNow: boolean) => void): Drive => {
  return (it, ms) => {
    if (ms === breaks || ms === heals) act(it, ms === breaks);
  };
};
outage('a messenger whose token is refused', {
  named: /channel .+ failed \(its token is refused\)/,
  tone: 'bad',
  drive: during((it, isDown) =>
    it.channel('messenger_a', isDown ? 'failed' : 'up', isDown ? 'its token is refused' : null),
  ),
});
outage('a messenger that cannot be reached', {
  named: /takes no messages in \(no network\)/,
  tone: 'bad',
  drive: during((it, isDown) =>
    it.channel('messenger_a', isDown ? 'degraded' : 'up', isDown ? 'no network' : null),
  ),
});
outage('a disk that is full', {
  named: /^Not working: the disk is full/,
  tone: 'bad',
  drive: during((it, isDown) => {
    it.storage = isDown ? 'the disk is full' : null;
  }),
});
falseAlarm('a platform that closes the connection, which svc opens again', null, (it, ms) => {
  if (ms % 30_000 === 0) it.channel('messenger_a', 'degraded', 'it closed the connection');
  if (ms % 30_000 === 2_000) it.channel('messenger_a', 'up');
});
