/** When figures are stored, and what figures a killed or stopped service leaves. */
import { hourMs, minuteMs } from '../lib/durations.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../test/support/waiting.ts';
import type { ChannelKey, MessageId } from '../domain/ids.ts';
import { readBody, FigureCounts } from '../telemetry/figures/counting.ts';
import { type FigureRow } from '../telemetry/figures/figures.ts';
import { keepFigures } from './figure-upkeep.ts';

const noon = 1_800_000_000_000 - (1_800_000_000_000 % hourMs);
const gauges = { inboxWaiting: 1, outboxWaiting: 2, outboxDeferred: 4, deadLetters: 3 };

/** A service whose minutes end when the test says so. */
function start() {
  const clock = { now: noon };
  const kept: FigureRow[] = [];
  const storage = { takes: true, asked: 0 };
  const over = new AbortController();
  const counts = new FigureCounts(() => clock.now);
  const ledger = {
    figures: {
      async keep(rows: readonly FigureRow[]) {
        storage.asked++;
        if (storage.takes) kept.push(...rows);
        return storage.takes;
      },
    },
    gauges: () => gauges as never,
  };
  // Reading the clock just before a minute's end lets the timer fire soon after.
  const now = (): number => clock.now;
  clock.now = noon + minuteMs - 1;
  const end = keepFigures({ counts, ledger, now, over: over.signal });
  const accept = (): void =>
    counts.messageAccepted({ channel: 'a' as ChannelKey, id: 'm' as MessageId, duplicate: false });
  /** Advances the clock to just before the end of that minute. */
  const pass = async (minute: number): Promise<void> => {
    const before = storage.asked;
    clock.now = noon + (minute + 1) * minuteMs - 1;
    await until('kept', () => storage.asked > before);
  };
  const minutes = () =>
    kept
      .filter(({ lengthMs }) => lengthMs === minuteMs)
      .map(({ at, body }) => [(at - noon) / minuteMs, readBody(body)!.accepted]);
  return { clock, kept, storage, over, accept, pass, minutes, end };
}

test('a minute is kept once it has ended, with what waited then', async () => {
  const it = start();
  it.accept();
  await it.pass(1);
  it.accept();
  it.accept();
  await it.pass(2);
  assert.deepEqual(it.minutes(), [
    [0, 1],
    [1, 2],
  ]);
  const { end } = readBody(it.kept[0]!.body)!;
  assert.deepEqual(end, { at: noon + minuteMs, queue: 7, deadLetters: 3 });
  it.end();
});

test('what could not be kept is kept with the next one, and its hour once', async () => {
  const it = start();
  it.storage.takes = false;
  for (let minute = 1; minute <= 3; minute++) {
    it.accept();
    await it.pass(minute);
  }
  it.storage.takes = true;
  await it.pass(4);
  assert.deepEqual(it.minutes(), [
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 0],
  ]);
  const hours = it.kept.filter(({ lengthMs }) => lengthMs === hourMs);
  assert.deepEqual(
    hours.map(({ body }) => readBody(body)!.accepted),
    [3],
  );
  it.end();
});

test('one that is stopped keeps the minute of now; one that is killed has lost it', async () => {
  const stopped = start();
  stopped.accept();
  await stopped.pass(1);
  stopped.accept();
  const killed = stopped.minutes();
  stopped.over.abort();
  assert.deepEqual(killed, [[0, 1]], 'the last minute alone is missing');
  assert.deepEqual(stopped.minutes(), [
    [0, 1],
    [1, 1],
  ]);
  const { asked } = stopped.storage;
  stopped.over.abort();
  stopped.end();
  assert.equal(stopped.storage.asked, asked);
});
