import assert from 'node:assert/strict';
import { migratedDatabase, postgresTest } from '../../../test/fake/postgres.ts';
import { Way } from '../../../test/fake/postgres/way.ts';
import { hook, newIds } from '../../../test/contract/ledger/kit.ts';
import { steadyNow } from '../../lib/clock.ts';
import { openPostgresStore } from './postgres.ts';
import { until, within } from '../../../test/support/waiting.ts';

postgresTest('a close waits for no connection that is being made', async () => {
  const url = await migratedDatabase();
  await using way = await Way.to(url);
  const store = await openPostgresStore({
    // Waiting for this connection would take far longer than the limit of the test.
    url: `${way.url(url)}?connect_timeout=300`,
    now: Date.now,
    steady: steadyNow,
    ids: newIds(),
    retentionDays: 30,
    version: 'test',
    limits: { closeMs: 100 },
  });
  assert.ok(!('kind' in store));
  const { ledger } = store;
  way.hold();
  way.cut();
  const read = ledger.cursor(hook, 'offset').catch((error: unknown) => error);
  // Two connections: the one that reads, and the one that writes.
  const { begun } = way;
  await until('they connect', () => way.begun >= begun + 2);
  await within('it closes', ledger[Symbol.asyncDispose]());
  assert.ok((await read) instanceof Error);
});
