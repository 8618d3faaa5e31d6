/** Figures over time, as every backend stores and reads them. */
import { hourMs, minuteMs } from '../../src/lib/durations.ts';
import assert from 'node:assert/strict';
import { Bucket } from '../../src/telemetry/figures/counting.ts';
import {
  modelsMax,
  others,
  type FigureRow,
  type FiguresRequest,
} from '../../src/telemetry/figures/figures.ts';
import type { It, ReaderCase } from './reader.ts';

/** The start of an hour. */
const noon = 1_800_000_000_000 - (1_800_000_000_000 % hourMs);
const asked: FiguresRequest = {
  lengthMs: minuteMs,
  stepMs: 5 * minuteMs,
  from: noon,
  until: noon + 15 * minuteMs,
  own: { run: 1, first: noon, last: noon + hourMs },
};

type Counted = Partial<Pick<Bucket, 'accepted' | 'answered' | 'failed'>> & {
  readonly queue?: number;
  readonly tookMs?: number;
  readonly revision?: string;
};

function rowOf(run: number, minute: number, counted: Counted = {}): FigureRow {
  const at = noon + minute * minuteMs;
  const { queue = 0, tookMs, revision, ...counts } = counted;
  const bucket = Object.assign(new Bucket(at), counts);
  bucket.end = { at: at + minuteMs, queue, deadLetters: 2 };
  if (tookMs !== undefined) bucket.times.observe(tookMs);
  if (revision !== undefined) bucket.mark({ at: at + run, revision });
  return { lengthMs: minuteMs, at, run, body: JSON.stringify(bucket.body()) };
}

const keep = async (it: It, ...rows: readonly FigureRow[]): Promise<void> =>
  assert.equal(await it.ledger.figures.keep(rows), true);

const p50Of = (times: readonly number[]): number => {
  const bucket = new Bucket(0);
  bucket.times.addTold(times);
  return Math.round(bucket.times.quantile(0.5)!);
};

export const figureReads: readonly ReaderCase[] = [
  [
    'nothing is kept at first, and every step is without a row',
    async (it) => {
      const told = await it.reader.figures(asked);
      assert.deepEqual(told.steps, [null, null, null]);
      assert.deepEqual([told.since, told.ownUntil], [null, null]);
      assert.deepEqual([told.marks, told.revisionBefore], [[], null]);
    },
  ],
  [
    'rows are added up by steps, of all runs, and a step without any is told apart',
    async (it) => {
      await keep(it, rowOf(1, 0, { accepted: 3 }), rowOf(1, 4, { accepted: 4, queue: 9 }));
      await keep(it, rowOf(2, 4, { accepted: 5, failed: 1, queue: 1 }), rowOf(2, 11));
      const { steps, since, ownUntil } = await it.reader.figures(asked);
      assert.deepEqual(
        steps.map((step) => step && [step.accepted, step.failed]),
        [[12, 1], null, [0, 0]],
      );
      const end = { at: noon + 5 * minuteMs, queue: 10, deadLetters: 2 };
      assert.deepEqual(steps[0]?.end, end, 'what waits at one time is that of all');
      assert.deepEqual([since, ownUntil], [noon, noon + 4 * minuteMs]);
    },
  ],
  [
    'a row that is kept again takes its own place, and that of no other run',
    async (it) => {
      await keep(it, rowOf(1, 0, { accepted: 1 }), rowOf(2, 0, { accepted: 10 }));
      await keep(it, rowOf(1, 0, { accepted: 2 }));
      const [step] = (await it.reader.figures(asked)).steps;
      assert.equal(step?.accepted, 12);
    },
  ],
  [
    'minutes and hours are apart, and rows outside the span are left out',
    async (it) => {
      const hour = { ...rowOf(1, 0, { accepted: 100 }), lengthMs: hourMs } as const;
      await keep(it, hour, rowOf(1, -1, { accepted: 1 }), rowOf(1, 15, { accepted: 1 }));
      const told = await it.reader.figures(asked);
      assert.deepEqual(told.steps, [null, null, null]);
      assert.equal(told.since, noon - minuteMs);
      const of = { lengthMs: hourMs, stepMs: hourMs, until: noon + hourMs } as const;
      const { steps } = await it.reader.figures({ ...asked, ...of });
      assert.deepEqual(
        steps.map((step) => step?.accepted),
        [100],
      );
    },
  ],
  [
    'in the first hour its minutes tell when counting began',
    async (it) => {
      const hour = { ...rowOf(1, 0), lengthMs: hourMs } as const;
      await keep(it, hour, rowOf(1, 57), rowOf(1, 58));
      assert.equal((await it.reader.figures(asked)).since, noon + 57 * minuteMs);
      await keep(it, { ...hour, at: noon - 5 * hourMs });
      assert.equal((await it.reader.figures(asked)).since, noon - 5 * hourMs);
    },
  ],
  [
    'of the minutes at hand the last that is kept is told, and of no other run',
    async (it) => {
      await keep(it, rowOf(1, 2), rowOf(1, 3), rowOf(2, 9), rowOf(1, 14));
      const until = async (own: FiguresRequest['own']) => {
        const { ownUntil } = await it.reader.figures({ ...asked, own });
        return ownUntil === null ? null : (ownUntil - noon) / minuteMs;
      };
      const at = (minute: number): number => noon + minute * minuteMs;
      assert.equal(await until({ run: 1, first: at(1), last: at(5) }), 3);
      assert.equal(await until({ run: 2, first: at(1), last: at(5) }), null);
      assert.equal(await until({ run: 3, first: at(0), last: at(15) }), null);
    },
  ],
  [
    'times of several runs are those of all their replies',
    async (it) => {
      const times = [10, 20, 400, 500, 600];
      for (const [run, tookMs] of times.entries()) await keep(it, rowOf(run, 1, { tookMs }));
      const [step] = (await it.reader.figures(asked)).steps;
      assert.ok(Math.abs(p50Of(step!.times) - 400) <= 40);
    },
  ],
  [
    'a configuration is told when another one comes into use, however many start with it',
    async (it) => {
      await keep(it, { ...rowOf(1, 0), body: bodyIn('a') }, rowOf(1, 1, { revision: 'a' }));
      await keep(it, rowOf(2, 2, { revision: 'b' }), rowOf(3, 2, { revision: 'b' }), rowOf(2, 3));
      await keep(it, rowOf(2, 6, { revision: 'a' }));
      const { marks, revisionBefore } = await it.reader.figures(asked);
      assert.equal(revisionBefore, 'a');
      assert.deepEqual(marks, [
        { at: noon + 2 * minuteMs + 2, revision: 'b' },
        { at: noon + 6 * minuteMs + 2, revision: 'a' },
      ]);
    },
  ],
  [
    'of very many models the rest is told as one, with what all of them did',
    async (it) => {
      const bodies = [0, 1].map((part) => {
        const bucket = new Bucket(noon);
        for (let at = 0; at < modelsMax; at++) {
          bucket.model(`p/${part} ${at}`, 'p').answered++;
        }
        return JSON.stringify(bucket.body());
      });
      await keep(it, { ...rowOf(1, 0), body: bodies[0]! }, { ...rowOf(2, 0), body: bodies[1]! });
      const [step] = (await it.reader.figures(asked)).steps;
      assert.equal(step!.models.length, modelsMax + 1);
      const rest = step!.models.find(({ model }) => model === others);
      assert.equal(rest?.answered, modelsMax);
    },
  ],
  [
    'what a later release wrote is read as far as it is known, and nonsense not at all',
    async (it) => {
      const later = { accepted: 4, answered: 'many', models: [{ model: 'p/m', new: 1 }, 7] };
      const bodies = [JSON.stringify(later), 'not JSON', '[]', 'null'];
      await keep(it, ...bodies.map((body, run) => ({ ...rowOf(run, 0), body })));
      const [step] = (await it.reader.figures(asked)).steps;
      assert.deepEqual([step?.accepted, step?.answered], [4, 0]);
      assert.deepEqual(
        step?.models.map(({ model, answered }) => [model, answered]),
        [['p/m', 0]],
      );
    },
  ],
  [
    'a ledger that has ended keeps no more of them',
    async (it, { durable }) => {
      await it.ledger[Symbol.asyncDispose]();
      if (durable) assert.equal(await it.ledger.figures.keep([rowOf(1, 0)]), false);
    },
  ],
];

function bodyIn(revision: string): string {
  const bucket = new Bucket(noon);
  bucket.revision = revision;
  return JSON.stringify(bucket.body());
}
