/** The cases of the contract find faults: each planted fault makes some of them fail. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { casesFor, runCase } from '../contract/ledger.ts';
import { faults } from '../contract/ledger/faults.ts';
import {
  memoryBackend,
  postgresBackend,
  sqliteBackend,
  type Backend,
  type Plant,
} from '../contract/ledger/backends.ts';
import { patience, type LedgerCase } from '../contract/ledger/kit.ts';
import { noPostgres } from '../fake/postgres.ts';

const cases = casesFor(memoryBackend);

test('there are at least 60 promises and eight faults', () => {
  assert.ok(cases.length >= 60, `${cases.length} cases of every form`);
  assert.equal(Object.keys(faults).length, 8);
});

// A case mostly fails after a wait in vain, so the faults wait at the same time.
suite('a planted fault is noticed in every form', { concurrency: true }, () => {
  const { looks } = patience;
  // Over a second; a sound ledger in memory answers within 150 ms.
  before(() => void (patience.looks = 500));
  after(() => void (patience.looks = looks));

  for (const [name, plant] of Object.entries(faults)) {
    test(name, async (t) => {
      const red = await firstRed(plant);
      assert.ok(red !== null, 'noticed in the memory form');
      t.diagnostic(red.name);
      assert.ok(await fails(red, sqliteBackend, plant), 'noticed in the SQLite form');
    });
    test(`${name}, on PostgreSQL`, { skip: noPostgres }, async () => {
      const red = await firstRed(plant);
      assert.ok(await fails(red!, postgresBackend, plant), 'noticed in the PostgreSQL form');
      assert.equal(
        await fails(red!, postgresBackend, (ledger) => ledger),
        false,
        'by the fault alone',
      );
    });
  }
});

async function firstRed(plant: Plant): Promise<LedgerCase | null> {
  for (const one of cases) if (await fails(one, memoryBackend, plant)) return one;
  return null;
}

async function fails(one: LedgerCase, backend: Backend, plant: Plant): Promise<boolean> {
  try {
    await runCase(one, (limits) => backend.open(limits, plant));
    return false;
  } catch {
    return true;
  }
}
