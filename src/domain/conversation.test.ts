import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  historyBounds,
  newestTurns,
  windowAfter,
  windowOf,
  type HistoryBounds,
  type TurnRow,
  type WindowStart,
} from './conversation.ts';

const turn = (at: number, characters = 200): TurnRow => ({
  at,
  text: 'x'.repeat(characters / 2),
  reply: 'y'.repeat(characters - characters / 2),
  sensitivity: 'public',
});

const times = (rows: readonly TurnRow[]): readonly number[] => rows.map(({ at }) => at);

/**
 * The window of a brain at each turn of a long session, as the ledger and the turn context make it.
 */
function* views(lengths: readonly number[], bounds: HistoryBounds = historyBounds) {
  let rows: readonly TurnRow[] = [];
  let start: WindowStart | null = null;
  for (const [at, characters] of lengths.entries()) {
    const window = windowOf(rows, start, bounds, at);
    start = window.start;
    yield { rows, window };
    rows = newestTurns([...rows, turn(at, characters)], bounds);
  }
}

const same = (count: number, characters: number): readonly number[] =>
  Array.from({ length: count }, () => characters);

test('until a bound is passed a window only grows', () => {
  for (const { window } of views(same(41, 200))) assert.equal(window.isCut, false);
  const [last] = [...views(same(41, 200))].slice(-1);
  assert.deepEqual(times(last!.window.turns), [...Array.from({ length: 40 }).keys()]);
});

test('when a bound is passed the oldest half goes at once, and stays out', () => {
  const cuts = [...views(same(100, 200))].flatMap(({ window }, at) =>
    window.isCut ? [[at, window.turns.length, window.turns[0]!.at]] : [],
  );
  assert.deepEqual(cuts, [
    [41, 20, 21],
    [62, 20, 42],
    [83, 20, 63],
  ]);
});

test('a window begins where it was cut, until the next cut', () => {
  let first: number | undefined;
  for (const { window } of views(same(100, 200))) {
    if (!window.isCut) assert.equal(window.turns[0]?.at, first);
    first = window.turns[0]?.at ?? 0;
    if (window.turns.length === 0) first = 0;
  }
});

test('the last ten turns stay in view, as far as they leave a quarter of the characters', () => {
  for (const characters of [200, 400, 800, 1_000, 1_200]) {
    for (const { rows, window } of views(same(100, characters))) {
      const newest = times(rows).slice(-10);
      assert.deepEqual(times(window.turns).slice(-newest.length), newest, `${characters}`);
    }
  }
  for (const { window } of views(same(100, 3_000))) {
    if (window.isCut) assert.equal(window.turns.length, 4);
  }
});

test('no window is larger than its bounds', () => {
  const lengths = Array.from({ length: 300 }, (_, at) => ((at * 7_919) % 97) * ((at % 13) * 20));
  for (const bounds of [historyBounds, { turns: 7, characters: 3_000 }]) {
    for (const { window } of views(lengths, bounds)) {
      const characters = window.turns.reduce(
        (sum, { text, reply }) => sum + text.length + reply!.length,
        0,
      );
      assert.ok(window.turns.length <= bounds.turns && characters <= bounds.characters);
    }
  }
});

test('a turn that is longer than the window alone leaves nothing in view', () => {
  const [last] = [...views([200, 200, 20_000, 200, 0])].slice(-1);
  assert.deepEqual(times(last!.window.turns), [3]);
  const [none] = [...views([200, 200, 20_000, 0])].slice(-1);
  assert.deepEqual(times(none!.window.turns), []);
  const [alone] = [...views([200, 4_000, 15_000, 0])].slice(-1);
  assert.deepEqual(times(alone!.window.turns), [2]);
});

test('with no turns and with no characters nothing is in view', () => {
  for (const bounds of [
    { turns: 0, characters: 16_000 },
    { turns: 40, characters: 0 },
  ]) {
    for (const { window } of views(same(5, 100), bounds)) assert.deepEqual(window.turns, []);
  }
});

test('a conversation that is given whole is shown as one that was kept', () => {
  const lengths = Array.from({ length: 150 }, (_, at) => 100 + ((at * 37) % 900));
  const rows = lengths.map((characters, at) => turn(at, characters));
  for (const [at, { window }] of [...views(lengths)].entries()) {
    assert.deepEqual(times(windowAfter(rows.slice(0, at), historyBounds)), times(window.turns));
  }
});

test('however long a conversation that is given whole is, it is copied once', () => {
  const rows = Array.from({ length: 500 }, (_, at) => turn(at));
  let copies = 0;
  rows.slice = (...range) => {
    copies++;
    return Array.prototype.slice.apply(rows, range);
  };
  windowAfter(rows, historyBounds);
  assert.equal(copies, 1);
});

test('where the turn at which it was cut is gone, all that is kept is in view', () => {
  const rows = [turn(5), turn(6)];
  const { turns, isCut } = windowOf(rows, { after: 4, at: 9 }, historyBounds, 10);
  assert.deepEqual([times(turns), isCut], [[5, 6], false]);
});

test('where only that turn is gone, what was cut stays out', () => {
  const rows = Array.from({ length: 41 }, (_, at) => turn(at));
  const { start, turns } = windowOf(rows, null, historyBounds, 99);
  const left = rows.filter(({ at }) => at !== start!.after);
  const next = windowOf(left, start, historyBounds, 100);
  assert.deepEqual([times(next.turns), next.isCut], [times(turns), false]);
});

test('a cut among turns of one moment is found again', () => {
  for (const first of [0, 15, 21, 24]) {
    const rows = Array.from({ length: 41 }, (_, at) => turn(at < first || at > 30 ? at : first));
    const { start, turns, isCut } = windowOf(rows, null, historyBounds, 99);
    assert.equal(isCut, true);
    assert.ok(turns.length >= 10 && turns.length <= 40);
    const next = windowOf(rows, start, historyBounds, 100);
    assert.deepEqual([next.turns, next.isCut], [turns, false]);
  }
});
