import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditRowsMax } from '../../domain/audit.ts';
import { AuditRing } from './story-ring.ts';

test('the last rows are kept and no more, newest first, their numbers going on', () => {
  const ring = new AuditRing();
  const row = { action: 'replay', target: {}, status: 200, reason: null } as const;
  for (let at = 1; at <= auditRowsMax + 2; at++) ring.add({ ...row, at });
  const told = ring.newestFirst();
  assert.equal(told.length, auditRowsMax);
  assert.deepEqual([told[0]?.at, told[0]?.seq], [auditRowsMax + 2, auditRowsMax + 2]);
  assert.deepEqual([told.at(-1)?.at, told.at(-1)?.seq], [3, 3]);
});
