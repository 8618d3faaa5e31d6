/** The contract's cases are worth something: each planted fault makes some of them fail. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { casesFor, runCase } from './contract/ledger.ts';
import { faults } from './contract/ledger/faults.ts';
import { memoryForm, sqliteForm, type Form, type Plant } from './contract/ledger/forms.ts';
import { patience, type LedgerCase } from './contract/ledger/kit.ts';

const cases = casesFor(memoryForm);

test('there are at least 60 promises and eight faults', () => {
  assert.ok(cases.length >= 60, `${cases.length} cases of every form`);
  assert.equal(Object.keys(faults).length, 8);
});

// A case mostly fails by waiting in vain, so the faults wait together, and not for long.
patience.ms = 2_000;
suite('a planted fault is noticed in both forms', { concurrency: true }, () => {
  for (const [name, plant] of Object.entries(faults)) {
    test(name, async (t) => {
      const red: LedgerCase[] = [];
      for (const one of cases) if (await fails(one, memoryForm, plant)) red.push(one);
      assert.ok(red.length > 0, 'noticed in the memory form');
      t.diagnostic(red.map((one) => one.name).join('; '));
      assert.ok(await fails(red[0]!, sqliteForm, plant), 'noticed in the SQLite form');
    });
  }
});

async function fails(one: LedgerCase, form: Form, plant: Plant): Promise<boolean> {
  try {
    await runCase(one, (limits) => form.open(limits, plant));
    return false;
  } catch {
    return true;
  }
}
