/** The minutes and hours of one run, and clocks that jump. */
import { hourMs, minuteMs } from '../../lib/durations.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../domain/failure.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../../domain/ids.ts';
import { readBody, FigureCounts } from './counting.ts';
import { modelsMax, others, type FigureRow } from './figures.ts';

/** A whole hour. */
const noon = 1_800_000_000_000 - (1_800_000_000_000 % hourMs);
const at = (minute: number): number => noon + minute * minuteMs;
const channel = 'webhook' as ChannelKey;
const model = 'local_runtime/small' as ModelName;
const provider = 'local_runtime';
const where = { channel, id: 'm' as MessageId };
const turn = { ...where, sender: { id: 'ada', name: null }, brain: 'main', ms: 5 };
const quiet = { queue: 0, deadLetters: 0 };

function start(minute = 0) {
  const clock = { now: at(minute) };
  let runs = 0;
  const counts = new FigureCounts(
    () => clock.now,
    () => ++runs,
  );
  const accept = (many: number): void => {
    for (let n = 0; n < many; n++) counts.messageAccepted({ ...where, duplicate: false });
  };
  const turnAt = (next: number, gauged = quiet): readonly FigureRow[] => {
    clock.now = at(next);
    return counts.turn(clock.now, gauged);
  };
  return { clock, counts, accept, turnAt };
}

const told = (rows: readonly FigureRow[]) =>
  rows.map(({ lengthMs, at: begins, run, body }) => {
    const kind = lengthMs === hourMs ? 'hour' : 'minute';
    return [kind, (begins - noon) / minuteMs, run, readBody(body)!.accepted];
  });

test('a minute counts messages, turns, calls with their tokens, and replies', () => {
  const { counts, turnAt } = start();
  counts.messageAccepted({ ...where, duplicate: false });
  counts.messageAccepted({ ...where, duplicate: true });
  const decision = { kind: 'reply', text: 'x', model, why: 'first' } as const;
  counts.turnFinished({ ...turn, decision });
  const apology = { kind: 'apology', apology: 'busy', why: 'none' } as const;
  counts.turnFinished({ ...turn, decision: apology });
  counts.commandAnswered();
  counts.buried({ ...where, box: 'in', failure: failure('fault') });
  counts.buried({ ...where, box: 'out', failure: failure('gone') });
  for (let n = 0; n < 3; n++) counts.modelAnswered({ model, provider, result: 'answer', ms: 400 });
  const spent = { brain: 'main', model, price: null };
  counts.modelSpent({ ...spent, used: { input: 90, output: 20, estimated: false } });
  counts.modelSpent({ ...spent, used: { input: 10, output: 3, estimated: true } });
  counts.modelAnswered({ model, provider, result: 'timeout', ms: 9_000 });
  for (const result of ['cancelled', 'outranked'] as const) {
    counts.modelAnswered({ model, provider, result, ms: 1 });
  }
  const delivered = { channel, id: 'r' as ReplyId, message: 'm' as MessageId, attempt: 1 };
  counts.replyDelivered({ ...delivered, totalMs: 500 });
  const [minute] = turnAt(1, { queue: 7, deadLetters: 2 });
  const { accepted, answered, failed, models, end } = readBody(minute!.body)!;
  assert.deepEqual([accepted, answered, failed], [1, 2, 2]);
  assert.deepEqual(end, { at: at(1), queue: 7, deadLetters: 2 });
  const [one, ...more] = models;
  assert.deepEqual(more, []);
  const { times, ...rest } = one!;
  const tokens = { inputTokens: 100, outputTokens: 23 };
  assert.deepEqual(rest, { model, provider, answered: 3, failed: 1, ...tokens });
  assert.deepEqual(times, [35, 3], 'times are of answers');
});

test('a minute is kept when the next begins, and its hour with all that came before', () => {
  const { counts, accept, turnAt } = start(58);
  accept(1);
  assert.deepEqual(counts.turn(at(58) + 59_999, quiet), [], 'it goes on');
  assert.deepEqual(told(turnAt(59)), [
    ['minute', 58, 1, 1],
    ['hour', 0, 1, 1],
  ]);
  accept(2);
  assert.deepEqual(told(turnAt(60)), [
    ['minute', 59, 1, 2],
    ['hour', 0, 1, 3],
  ]);
  accept(4);
  assert.deepEqual(told(turnAt(61)), [
    ['minute', 60, 1, 4],
    ['hour', 60, 1, 4],
  ]);
});

test('what was counted while the machine slept is of the minute before', () => {
  const { accept, turnAt } = start();
  accept(1);
  assert.deepEqual(told(turnAt(600)), [
    ['minute', 0, 1, 1],
    ['hour', 0, 1, 1],
  ]);
  accept(2);
  assert.deepEqual(told(turnAt(601)), [
    ['minute', 600, 1, 2],
    ['hour', 600, 1, 2],
  ]);
});

test('a clock that is set back begins another run, so that nothing kept is written over', () => {
  const { counts, accept, turnAt } = start(30);
  accept(1);
  turnAt(31);
  accept(2);
  assert.deepEqual(told(turnAt(10)), [
    ['minute', 31, 1, 2],
    ['hour', 0, 1, 3],
  ]);
  accept(4);
  assert.equal(counts.atHand.run, 2);
  assert.equal(counts.unkept(null, quiet).length, 1, 'minutes of the run before are not at hand');
  assert.deepEqual(told(turnAt(11)), [
    ['minute', 10, 2, 4],
    ['hour', 0, 2, 4],
  ]);
});

test('minutes that are not kept yet are at hand, with that of now, and only the last hour', () => {
  const { counts, accept, turnAt } = start();
  for (let minute = 1; minute <= 90; minute++) {
    accept(1);
    turnAt(minute);
  }
  accept(5);
  const { first, last } = counts.atHand;
  assert.deepEqual([first, last], [at(30), at(90)]);
  assert.equal(counts.unkept(null, quiet).length, 61);
  const left = counts.unkept(at(88), { queue: 3, deadLetters: 1 });
  assert.deepEqual(
    left.map((bucket) => [bucket.at, bucket.accepted]),
    [
      [at(89), 1],
      [at(90), 5],
    ],
  );
  assert.deepEqual(left.at(-1)!.end, { at: at(91), queue: 3, deadLetters: 1 });
  assert.deepEqual(counts.unkept(at(90), quiet), []);
});

test('what is kept at the end of svc is as of now, and counting goes on', () => {
  const { counts, accept, turnAt } = start();
  accept(1);
  const now = at(0) + 20_000;
  const rows = counts.rowsNow(now, { queue: 2, deadLetters: 0 });
  assert.deepEqual(told(rows), [
    ['minute', 0, 1, 1],
    ['hour', 0, 1, 1],
  ]);
  assert.equal(readBody(rows[0]!.body)!.end!.at, now);
  accept(1);
  assert.deepEqual(told(turnAt(1)), [
    ['minute', 0, 1, 2],
    ['hour', 0, 1, 2],
  ]);
});

test('a configuration is marked in its minute, and known in those that follow', () => {
  const { counts, turnAt } = start();
  const plan = { channels: 1, brains: 1, models: [] };
  counts.configUsed({ revision: 'a', ...plan });
  counts.configUsed({ revision: 'b', ...plan });
  const [first] = turnAt(1);
  const [second] = turnAt(2);
  assert.deepEqual(readBody(first!.body)!.configs, [
    { at: noon, revision: 'a' },
    { at: noon, revision: 'b' },
  ]);
  const { configs, revision } = readBody(second!.body)!;
  assert.deepEqual([configs, revision], [[], 'b']);
});

test('of too many models the rest is counted as one, tokens as well', () => {
  const { counts, turnAt } = start();
  for (let n = 0; n < modelsMax + 10; n++) {
    const name = `hosted_runtime/${n}` as ModelName;
    const call = { model: name, provider: 'hosted_runtime', ms: 5 } as const;
    counts.modelAnswered({ ...call, result: 'answer' });
    const used = { input: 2, output: 1, estimated: false };
    counts.modelSpent({ brain: 'main', model: name, used, price: null });
    counts.modelAnswered({ ...call, result: 'timeout' });
  }
  const [minute] = turnAt(1);
  const { models } = readBody(minute!.body)!;
  assert.equal(models.length, modelsMax + 1);
  const rest = models.at(-1)!;
  assert.deepEqual([rest.model, rest.answered, rest.failed], [others, 10, 10]);
  assert.deepEqual([rest.inputTokens, rest.outputTokens], [20, 10]);
});
