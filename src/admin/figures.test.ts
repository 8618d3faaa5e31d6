/** The answer of `/api/v1/figures` for the steps of a span, and how often it reads the ledger. */
import { hourMs, minuteMs } from '../lib/durations.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyBucket, figureRow } from '../../test/fake/figure-rows.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../domain/ids.ts';
import { Bucket, FigureCounts } from '../telemetry/figures/counting.ts';
import { modelsMax, others, scales, spans, type FigureRow } from '../telemetry/figures/figures.ts';
import { Rollup } from '../telemetry/figures/rollup.ts';
import { FigureRing } from '../ledger/memory/story-ring.ts';
import { FiguresView, type FiguresSummary } from './figures.ts';

const noon = 1_800_000_000_000 - (1_800_000_000_000 % (6 * hourMs));
const gauges = { inboxWaiting: 5, outboxWaiting: 0, outboxDeferred: 0, deadLetters: 1 };

/** A service that started at that minute before noon, with a ring that stores its rows. */
function start({ began = 0 } = {}) {
  const clock = { now: noon + began * minuteMs };
  const ring = new FigureRing();
  const counts = new FigureCounts(() => clock.now);
  const asked = { times: 0, fails: false };
  const reader = {
    async figures(what: Parameters<FigureRing['figures']>[0]) {
      asked.times++;
      if (asked.fails) throw new Error('the storage is away');
      return ring.figures(what);
    },
  };
  const view = new FiguresView({
    reader: reader as never,
    figures: counts,
    gauges: () => gauges as never,
    now: () => clock.now,
  });
  const accept = (many: number): void => {
    for (let n = 0; n < many; n++) {
      counts.messageAccepted({
        channel: 'a' as ChannelKey,
        id: 'm' as MessageId,
        duplicate: false,
      });
    }
  };
  const deliver = (totalMs: number): void => {
    const reply = { id: 'r' as ReplyId, message: 'm' as MessageId, attempt: 1 };
    counts.replyDelivered({ channel: 'a' as ChannelKey, ...reply, totalMs });
  };
  /** Advances to that minute and stores the minutes that have ended, unless storing fails. */
  const pass = async (minute: number, keeps = true): Promise<void> => {
    clock.now = noon + minute * minuteMs;
    const rows = counts.turn(clock.now, { queue: 9, deadLetters: 2 });
    if (keeps) await ring.keep(rows);
  };
  return { clock, ring, counts, view, accept, deliver, pass, asked };
}

const total = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0);

test('every span has its steps, which end with the one that is not over', async () => {
  const it = start({ began: -3 });
  it.accept(1);
  await it.pass(-2);
  it.accept(2);
  it.clock.now += 20_000;
  for (const span of spans) {
    const { stepMs, steps } = scales[span];
    const { whole, off, from, until, since, ...told } = await it.view.summary(span);
    assert.deepEqual([told.span, told.stepMs], [span, stepMs]);
    assert.deepEqual([until - from, from % stepMs], [steps * stepMs, 0]);
    assert.ok(it.clock.now < until && it.clock.now >= until - stepMs);
    const { overall: _, ...lists } = whole;
    for (const list of [...Object.values(lists), off]) assert.equal(list.length, steps);
    assert.equal(total(whole.accepted), 3, 'with the minute of now');
    assert.equal(off.filter((is) => !is).length, span === 'hour' ? 2 : 1);
    assert.equal(since, noon - 3 * minuteMs);
  }
});

test('a minute that was not kept is told from memory, and one that was is told once', async () => {
  const it = start({ began: -10 });
  for (let minute = -9; minute <= -2; minute++) {
    it.accept(10 ** ((minute + 9) % 3));
    await it.pass(minute, minute < -4);
  }
  it.accept(7);
  for (const span of spans) {
    const { whole } = await it.view.summary(span);
    assert.equal(total(whole.accepted), 111 + 111 + 11 + 7, span);
  }
  const { accepted } = (await it.view.summary('hour')).whole;
  assert.deepEqual(accepted.slice(-9), [1, 10, 100, 1, 10, 100, 1, 10, 7]);
});

test('a step without svc is off, and has nothing that was measured', async () => {
  const it = start({ began: -30 });
  it.accept(1);
  await it.pass(-10);
  const { whole, off } = await it.view.summary('hour');
  const at = (minute: number): number => 59 + minute + 10;
  assert.deepEqual(
    [off[at(-30)], off[at(-29)], off[at(-11)], off[at(-10)]],
    [false, true, true, false],
  );
  assert.deepEqual([whole.accepted[at(-30)], whole.accepted[at(-29)]], [1, 0]);
  assert.deepEqual([whole.queue[at(-30)], whole.queue[at(-29)]], [9, null]);
  assert.deepEqual([whole.queue[at(-10)], whole.deadLetters[at(-10)]], [5, 1], 'as of now');
  assert.deepEqual([whole.p95Ms[at(-30)], whole.p95Ms[at(-29)]], [null, null]);
});

test('the times of a span are of all that it holds, not of its steps', async () => {
  const it = start({ began: -3 });
  for (let call = 0; call < 99; call++) it.deliver(10);
  await it.pass(-2);
  it.deliver(8_000);
  const { p50Ms, p95Ms } = (await it.view.summary('hour')).whole.overall;
  assert.ok(p50Ms! <= 11 && p95Ms! <= 11, `${p50Ms} ${p95Ms}`);
});

test('several instances are one, and so are the starts of one', async () => {
  const it = start({ began: -2 });
  const other = busyBucket(noon - 2 * minuteMs, { models: 2, calls: 100 });
  await it.ring.keep([figureRow(7, other), figureRow(8, other)]);
  it.accept(5);
  await it.pass(-1);
  const { whole, models } = await it.view.summary('hour');
  const at = 58;
  assert.equal(whole.accepted[at], 405);
  assert.equal(whole.queue[at], 12 + 12 + 9, 'what waits is theirs together');
  assert.equal(whole.deadLetters[at], 3, 'the dead letters are those of all');
  assert.equal(whole.queue.at(-1), 5, 'of the minute of now only this one tells');
  const day = await it.view.summary('day');
  assert.equal(day.whole.queue.at(-1), 33, 'in a longer step all told so a minute ago');
  assert.deepEqual(
    models.map(({ answered, p50Ms }) => [answered[at], p50Ms[at]]),
    models.map(({ p50Ms }) => [200, p50Ms[at]]),
  );
  assert.equal(whole.inputTokens[at], total(models.map(({ inputTokens }) => inputTokens[at]!)));
  const p50 = other.times.quantile(0.5)!;
  assert.equal(whole.p50Ms[at], Math.round(p50), 'of twice the same the middle is the same');
});

test('a model that is called no more keeps what it did', async () => {
  const it = start({ began: -50 });
  const model = 'local_runtime/gone' as ModelName;
  const call = { model, provider: 'local_runtime', result: 'answer', ms: 100 } as const;
  it.counts.modelAnswered(call);
  const used = { input: 5, output: 6, estimated: false };
  it.counts.modelSpent({ brain: 'main', model, used, price: null });
  const plan = { channels: 0, brains: 0, models: [] };
  it.counts.configUsed({ revision: 'without', ...plan });
  await it.pass(-49);
  await it.pass(0);
  const { models, configs, whole } = await it.view.summary('hour');
  const [one] = models;
  assert.deepEqual([one?.model, total(one!.answered)], [model, 1]);
  assert.deepEqual([total(whole.inputTokens), total(whole.outputTokens)], [5, 6]);
  assert.deepEqual(configs, [{ at: noon - 50 * minuteMs, revision: 'without' }]);
});

test('an answer stands for seconds, and one that failed is asked for again', async () => {
  const it = start();
  const [one, other] = await Promise.all([it.view.summary('hour'), it.view.summary('hour')]);
  assert.equal(one, other);
  it.clock.now += 4_999;
  assert.equal(await it.view.summary('hour'), one);
  assert.equal(it.asked.times, 1);
  it.clock.now += 1;
  assert.notEqual(await it.view.summary('hour'), one);
  it.clock.now += 60_000;
  it.asked.fails = true;
  await assert.rejects(it.view.summary('hour'));
  it.asked.fails = false;
  assert.equal((await it.view.summary('hour')).span, 'hour');
});

/** Every row of a span is full, and each was written by two instances. */
async function fullAnswer(span: keyof typeof scales, models: number): Promise<FiguresSummary> {
  const it = start();
  const { lengthMs, stepMs, steps } = scales[span];
  const calls = 100 * (lengthMs / minuteMs);
  const rows: FigureRow[] = [];
  const full = figureRow(1, busyBucket(noon, { models, calls }, lengthMs), lengthMs);
  for (let at = noon - steps * stepMs; at <= noon; at += lengthMs) {
    rows.push({ ...full, at, run: 1 }, { ...full, at, run: 2 });
  }
  const kept = { figures: async (asked: never) => gathered(rows, asked) };
  const { counts, clock } = it;
  const ports = { reader: kept as never, figures: counts, gauges: () => gauges as never };
  return new FiguresView({ ...ports, now: () => clock.now }).summary(span);
}

async function gathered(rows: readonly FigureRow[], asked: never) {
  const gathering = new Rollup(asked);
  for (const row of rows) gathering.add(row);
  return gathering.told({ first: { minute: noon, hour: noon }, ownUntil: null });
}

test('an answer of ten busy models stays below 60 kB', async () => {
  for (const span of spans) {
    const told = await fullAnswer(span, 10);
    assert.equal(told.models.length, 10);
    assert.ok(told.off.every((is) => !is));
    const bytes = JSON.stringify(told).length;
    assert.ok(bytes < 60_000, `${span}: ${bytes} bytes`);
  }
});

test('of very many models over time the rest is told as one, and none is lost', async () => {
  const it = start();
  for (let minute = -40; minute < 0; minute++) {
    const bucket = new Bucket(noon + minute * minuteMs);
    for (let n = 0; n < 5; n++) bucket.model(`p/${minute} ${n}`, 'p').answered++;
    await it.ring.keep([figureRow(1, bucket)]);
  }
  const { models } = await it.view.summary('hour');
  assert.equal(models.length, modelsMax + 1);
  assert.equal(total(models.map(({ answered }) => total(answered))), 200);
  const rest = models.find(({ model }) => model === others)!;
  assert.equal(total(rest.answered), 200 - modelsMax);
});
