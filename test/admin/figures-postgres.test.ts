/** Figures of two instances on one database: each instance reports both. */
import { hourMs, minuteMs } from '../../src/lib/durations.ts';
import assert from 'node:assert/strict';
import { FiguresView, type FiguresSummary } from '../../src/admin/figures.ts';
import type { ChannelKey, MessageId, ModelName } from '../../src/domain/ids.ts';
import { FigureCounts } from '../../src/telemetry/figures/counting.ts';
import { spans } from '../../src/telemetry/figures/figures.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { keepFigures } from '../../src/app/figure-upkeep.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { createPostgresReader } from '../../src/ledger/postgres/read/reader.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import type { LedgerReader } from '../../src/ledger/ledger.ts';
import { newIds, until } from '../contract/ledger/kit.ts';
import { migratedDatabase, postgresTest } from '../fake/postgres.ts';

const noon = 1_800_000_000_000 - (1_800_000_000_000 % hourMs);
const call = {
  model: 'local_runtime/small' as ModelName,
  provider: 'local_runtime',
  result: 'answer',
} as const;

const used = { input: 10, output: 1, estimated: false };

/** An instance whose minutes end when the test says so. */
async function begin(url: string) {
  const clock = { ...systemClock, ids: newIds() };
  const store = await openPostgresStore({ url, ...clock, retentionDays: 30, version: 'test' });
  if ('kind' in store) throw new Error(store.message);
  const { ledger } = store;
  const reader = createPostgresReader(() => connect(url));
  const over = new AbortController();
  let at = noon + minuteMs - 1;
  const now = (): number => at;
  const counts = new FigureCounts(now);
  const end = keepFigures({ counts, ledger, now, over: over.signal });
  /** Each asks anew, past the cache of some seconds. */
  const told = (span: FiguresSummary['span']): Promise<FiguresSummary> =>
    new FiguresView({ reader, figures: counts, gauges: () => ledger.gauges(), now }).summary(span);
  return {
    counts,
    told,
    reader,
    accept: (many: number): void => {
      const e = { channel: 'a' as ChannelKey, id: 'm' as MessageId, duplicate: false };
      for (let n = 0; n < many; n++) counts.messageAccepted(e);
      for (let n = 0; n < many; n++) counts.modelAnswered({ ...call, ms: 100 });
      for (let n = 0; n < many; n++) counts.modelSpent({ ...call, brain: 'b', used, price: null });
    },
    pass: (minute: number): void => void (at = noon + (minute + 1) * minuteMs - 1),
    over,
    async [Symbol.asyncDispose]() {
      end();
      await ledger[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
    },
  };
}

const total = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0);

async function keptMinutes(reader: LedgerReader): Promise<number> {
  const own = { run: 0, first: 0, last: 0 };
  const of = { lengthMs: minuteMs, stepMs: minuteMs, from: noon, until: noon + hourMs } as const;
  const { steps } = await reader.figures({ ...of, own });
  return steps.reduce((sum, step) => sum + (step?.accepted ?? 0), 0);
}

postgresTest('of two instances whichever is asked tells of both, in every span', async () => {
  const url = await migratedDatabase();
  await using one = await begin(url);
  await using other = await begin(url);
  one.accept(3);
  other.accept(4);
  one.pass(1);
  other.pass(1);
  await until('kept', async () => (await keptMinutes(one.reader)) === 7);
  one.accept(10);
  other.accept(20);
  for (const span of spans) {
    const [ofOne, ofOther] = [await one.told(span), await other.told(span)];
    const accepted = [ofOne, ofOther].map(({ whole }) => total(whole.accepted));
    assert.deepEqual(accepted, [17, 27], `${span}: what the other one counts now comes later`);
    const [model, ...more] = ofOne.models;
    assert.deepEqual(more, []);
    assert.deepEqual([total(model!.answered), total(model!.inputTokens)], [17, 170]);
    assert.equal(model!.p50Ms.filter((ms) => ms !== null && Math.abs(ms - 100) > 10).length, 0);
  }
});

postgresTest('one that ends has its last minute kept before its storage is closed', async () => {
  const url = await migratedDatabase();
  const reader = createPostgresReader(() => connect(url));
  {
    await using one = await begin(url);
    one.accept(5);
    one.over.abort();
  }
  assert.equal(await keptMinutes(reader), 5);
  await reader[Symbol.asyncDispose]();
});
