import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import type { Admission, Spare } from '../messenger/platform.ts';
import type { RoomLimits } from '../messenger/rate-limits.ts';
import { createRoom } from './telegram.ts';

const never = new AbortController().signal;

function start(limits: Partial<RoomLimits> = {}) {
  const clock = handClock();
  const room = createRoom(clock, limits);
  const at = (chat: number) => ({ chat, thread: null, replyTo: null });
  const rateLimiter = {
    admit: (chat: number, signal: AbortSignal, waitMsMax?: number) =>
      room.admit(at(chat), signal, waitMsMax),
    spare: (chat: number, signal: AbortSignal, kind?: Spare, isFirst?: boolean) =>
      room.spare(at(chat), signal, kind, isFirst),
    pauseFor: (ms: number) => room.pauseFor(ms),
  };
  return { clock, rateLimiter };
}

/**
 * Lets time pass until that many calls were admitted. @returns the time of each, in milliseconds
 */
async function allOf(
  { clock, rateLimiter }: ReturnType<typeof start>,
  chats: readonly number[],
  eachMs = 12,
): Promise<{ readonly chat: number; readonly at: number }[]> {
  const begun = clock.steady();
  const gone: { chat: number; at: number }[] = [];
  const due = chats.map((chat) => ({ chat, at: 0 }));
  let under = 0;
  const ask = async (one: { readonly chat: number; at: number }): Promise<void> => {
    const admission = await rateLimiter.admit(one.chat, never);
    under--;
    const at = clock.steady() - begun;
    if (admission.kind === 'go') gone.push({ chat: one.chat, at });
    else due.push({ ...one, at: admission.kind === 'later' ? at + admission.ms : Infinity });
  };
  while (gone.length < chats.length) {
    const now = clock.steady() - begun;
    for (const one of due.splice(0)) {
      if (one.at > now || under >= 128) {
        due.push(one);
        continue;
      }
      under++;
      void ask(one);
    }
    clock.pass(eachMs);
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
    await new Promise(setImmediate);
  }
  return gone;
}

/** The most calls in any period of that many milliseconds. */
function mostWithin(times: readonly number[], ms: number): number {
  return Math.max(
    ...times.map((from) => times.filter((at) => at >= from && at < from + ms).length),
  );
}

test('600 replies in 100 chats: 30 in any second at most, and no chat gets too many', async () => {
  const chats = Array.from({ length: 600 }, (_, at) => 501 + (at % 100));
  const it = start();
  const gone = await allOf(it, chats);
  const times = gone.map(({ at }) => at);
  assert.ok(mostWithin(times, 1_000) <= 30, String(mostWithin(times, 1_000)));
  assert.ok(times.at(-1)! < 30_000, `it took ${times.at(-1)} ms`);
  const ofOne = gone.filter(({ chat }) => chat === 501).map(({ at }) => at);
  assert.ok(mostWithin(ofOne, 1_000) <= 3);
});

test('a group gets 20 in any minute at most', async () => {
  const gone = await allOf(start(), Array<number>(45).fill(-100200), 500);
  const times = gone.map(({ at }) => at);
  assert.ok(mostWithin(times, 60_000) <= 20, String(mostWithin(times, 60_000)));
  assert.ok(times.at(-1)! < 3 * 60_000);
});

test('who would wait for its chat for long is sent away, and holds up nobody', async () => {
  const { rateLimiter, clock } = start();
  const answers: Admission[] = [];
  for (let i = 0; i < 6; i++) {
    answers.push(await rateLimiter.admit(-7, never));
    clock.pass(50);
  }
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ['go', 'go', 'go', 'go', 'later', 'later'],
  );
  assert.ok(answers[4]!.kind === 'later' && answers[4]!.ms > 2_000);
  assert.deepEqual(await rateLimiter.admit(501, never), { kind: 'go' });
});

test('a pause that the platform asked for holds everyone, those who wait already too', async () => {
  const { rateLimiter, clock } = start();
  await rateLimiter.admit(1, never);
  await rateLimiter.admit(2, never);
  const waiting = rateLimiter.admit(3, never);
  rateLimiter.pauseFor(30_000);
  clock.pass(100);
  assert.deepEqual(await waiting, { kind: 'later', ms: 29_900 });
  assert.deepEqual(await rateLimiter.admit(4, never), { kind: 'later', ms: 29_900 });
  let isSpared = false;
  const sparing = rateLimiter.spare(5, never).then(() => (isSpared = true));
  clock.pass(29_899);
  await new Promise(setImmediate);
  assert.equal(isSpared, false);
  clock.pass(1);
  assert.deepEqual(await rateLimiter.admit(4, never), { kind: 'go' });
  clock.pass(36);
  await sparing;
});

test('a short one is waited for', async () => {
  const { rateLimiter, clock } = start();
  rateLimiter.pauseFor(1_000);
  const waiting = rateLimiter.admit(1, never);
  let over = false;
  void waiting.then(() => (over = true));
  clock.pass(999);
  await new Promise(setImmediate);
  assert.equal(over, false);
  clock.pass(1);
  assert.deepEqual(await waiting, { kind: 'go' });
});

test('who is stopped waits no longer, whether for its chat or for the bot', async () => {
  const { rateLimiter } = start();
  for (let i = 0; i < 2; i++) await rateLimiter.admit(1, never);
  const stopping = new AbortController();
  const waiting = [rateLimiter.admit(2, stopping.signal), rateLimiter.admit(1, stopping.signal)];
  stopping.abort();
  assert.deepEqual(await Promise.all(waiting), [{ kind: 'stopped' }, { kind: 'stopped' }]);
  assert.deepEqual(await rateLimiter.admit(1, stopping.signal), { kind: 'stopped' });
});

/** Asks for a best-effort call in each chat at once. @returns when each call was admitted */
async function sparedAt(
  { clock, rateLimiter }: ReturnType<typeof start>,
  chats: readonly number[],
  ms: number,
): Promise<{ readonly chat: number; readonly at: number }[]> {
  const begun = clock.steady();
  const spared: { chat: number; at: number }[] = [];
  const stopping = new AbortController();
  for (const chat of chats) {
    const sparing = rateLimiter.spare(chat, stopping.signal);
    void sparing.then((is) => is && spared.push({ chat, at: clock.steady() - begun }));
  }
  for (let passed = 0; passed <= ms; passed += 12) {
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
    await new Promise(setImmediate);
    clock.pass(12);
  }
  stopping.abort();
  return spared;
}

test('what may be left out takes what is left over, and leaves one for a reply', async () => {
  const it = start();
  const spared = await sparedAt(it, [501, 501, 501], 500);
  assert.deepEqual(
    spared.map(({ chat }) => chat),
    [501, 501],
  );
  assert.deepEqual(await it.rateLimiter.admit(501, never), { kind: 'go' });
});

test('of many chats each has its turn, in the order of asking, within little time', async () => {
  const chats = Array.from({ length: 20 }, (_, at) => 501 + at);
  const spared = await sparedAt(start(), chats, 1_000);
  assert.deepEqual(
    spared.map(({ chat }) => chat),
    chats,
  );
  assert.ok(spared.at(-1)!.at < 800, String(spared.at(-1)!.at));
});

test('replies go first, also those that come while others wait for what is left over', async () => {
  const it = start();
  const sparing = sparedAt(
    it,
    Array.from({ length: 10 }, (_, at) => 501 + at),
    600,
  );
  const begun = it.clock.steady();
  const replied = await Promise.all(
    Array.from({ length: 6 }, async (_, at) => {
      await it.rateLimiter.admit(601 + at, never);
      return it.clock.steady() - begun;
    }),
  );
  const spared = await sparing;
  assert.ok(replied.at(-1)! <= 6 * 36 + 12, String(replied));
  assert.equal(spared.length, 10);
  const between = spared.filter(({ at }) => at > 0 && at < replied.at(-1)!);
  assert.deepEqual(between, []);
});

test('a group that has none left over holds up nobody who waits', async () => {
  const it = start();
  for (let n = 0; n < 3; n++) {
    await it.rateLimiter.admit(-7, never);
    it.clock.pass(100);
  }
  const spared = await sparedAt(it, [-7, 501, 502], 200);
  assert.deepEqual(
    spared.map(({ chat }) => chat),
    [501, 502],
  );
});

test('a first sight goes at once while others grow, and all stay below 30 a second', async () => {
  const { rateLimiter, clock } = start();
  const stopping = new AbortController();
  const times: number[] = [];
  const waits: number[] = [];
  /** Edits each of 50 replies as soon as it may. */
  const grow = async (chat: number): Promise<void> => {
    while (await rateLimiter.spare(chat, stopping.signal)) times.push(clock.steady());
  };
  const show = async (chat: number): Promise<void> => {
    const asked = clock.steady();
    await rateLimiter.spare(chat, stopping.signal, 'message', true);
    times.push(clock.steady());
    waits.push(clock.steady() - asked);
  };
  for (let chat = 501; chat <= 550; chat++) void grow(chat);
  for (let passed = 0; passed < 6_000; passed += 12) {
    // Three at a time, twice in a second.
    if (passed >= 1_200 && passed % 600 === 0) {
      for (const chat of [1, 2, 3]) void show(passed * 10 + chat);
    }
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
    await new Promise(setImmediate);
    clock.pass(12);
  }
  stopping.abort();
  assert.deepEqual(waits, Array(24).fill(0));
  assert.ok(mostWithin(times, 1_000) < 30, String(mostWithin(times, 1_000)));
  assert.ok(times.length > 6 * 20, `${times.length} in six seconds`);
});

test('first sights that come all at once leave a place for a reply', async () => {
  const it = start();
  const chats = Array.from({ length: 40 }, (_, at) => 501 + at);
  const stopping = new AbortController();
  let shown = 0;
  for (const chat of chats) {
    void it.rateLimiter.spare(chat, stopping.signal, 'message', true).then((is) => is && shown++);
  }
  await new Promise(setImmediate);
  assert.equal(shown, 28);
  assert.deepEqual(await it.rateLimiter.admit(901, never), { kind: 'go' });
  stopping.abort();
});

test('a first sight waits for the replies that wait already, and no longer', async () => {
  const { rateLimiter, clock } = start();
  const begun = clock.steady();
  const gone: string[] = [];
  const note = (name: string): void => void gone.push(`${name} ${clock.steady() - begun}`);
  for (const chat of [1, 2, 3, 4]) void rateLimiter.admit(chat, never).then(() => note(`${chat}`));
  void rateLimiter.spare(5, never, 'message', true).then(() => note('first'));
  for (let passed = 0; passed < 120; passed++) {
    await new Promise<void>((acted) => clock.deadlines.after(0, acted));
    await new Promise(setImmediate);
    clock.pass(1);
  }
  assert.deepEqual(gone, ['1 0', '2 0', '3 36', '4 72', 'first 73']);
});

test('drafts take no place of a message, and wait where the platform wants a pause', async () => {
  const { rateLimiter, clock } = start();
  let drafts = 0;
  const draft = (chat: number, isFirst: boolean): void =>
    void rateLimiter.spare(chat, never, 'draft', isFirst).then(() => drafts++);
  for (let chat = 501; chat <= 530; chat++) draft(chat, false);
  await new Promise(setImmediate);
  assert.equal(drafts, 20, 'what grows leaves some for first sights');
  for (let chat = 601; chat <= 630; chat++) draft(chat, true);
  await new Promise(setImmediate);
  assert.equal(drafts, 50);
  for (let n = 0; n < 2; n++) assert.deepEqual(await rateLimiter.admit(501, never), { kind: 'go' });
  rateLimiter.pauseFor(5_000);
  draft(701, true);
  clock.pass(4_999);
  await new Promise(setImmediate);
  assert.equal(drafts, 50);
  clock.pass(1);
  await new Promise<void>((acted) => clock.deadlines.after(0, acted));
  await new Promise(setImmediate);
  assert.ok(drafts > 50);
});

test('of 20,000 chats those that are short of something are not forgotten', async () => {
  const { rateLimiter, clock } = start();
  for (let chat = 1; chat <= 20_000; chat++) {
    assert.deepEqual(await rateLimiter.admit(chat, never), { kind: 'go' });
    clock.pass(100);
  }
  // No chat waits for anything: the last one has had three.
  for (const ms of [0, 50]) {
    assert.deepEqual(await rateLimiter.admit(20_000, never), { kind: 'go' });
    clock.pass(50 - ms / 2);
  }
  const admission = await rateLimiter.admit(20_000, never, 0);
  assert.equal(admission.kind, 'later');
});
