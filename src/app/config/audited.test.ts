import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditRow } from '../../domain/audit.ts';
import { NotOverwritten, type Ledger } from '../../ledger/ledger.ts';
import type { MessageOwner } from '../../domain/story.ts';
import { audited } from './audited.ts';

const ann: MessageOwner = { kind: 'sender', channel: 'webhook' as never, sender: 'ann' };
const ofMain = { kind: 'brain', brain: 'main' } as const;

/** Deletes with this outcome. @returns the audit rows */
async function rowsOf(outcome: () => Promise<number>): Promise<readonly object[]> {
  const rows: object[] = [];
  const recordWrite = async (row: AuditRow): Promise<boolean> => rows.push(row) > 0;
  const ledger = { forget: outcome, clearNotes: outcome, recordWrite } as Partial<Ledger>;
  const writes = audited(ledger as Ledger, () => 7);
  await Promise.allSettled([writes.forget(ann), writes.clearNotes(ofMain)]);
  return rows;
}

const rowsWith = (status: number): readonly object[] => [
  {
    at: 7,
    action: 'forget_sender',
    target: { channel: 'webhook', sender: 'ann' },
    status,
    reason: null,
  },
  { at: 7, action: 'clear_brain_notes', target: { brain: 'main' }, status, reason: null },
];

test('a deletion has its audit row, also where its bytes are left on the disk', async () => {
  assert.deepEqual(await rowsOf(async () => 2), rowsWith(200));
  assert.deepEqual(await rowsOf(() => Promise.reject(new NotOverwritten())), rowsWith(503));
});

test('a deletion of which nobody knows how far it came has no audit row', async () => {
  assert.deepEqual(await rowsOf(() => Promise.reject(new Error('the storage has failed'))), []);
});
