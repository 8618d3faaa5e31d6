/** What operators did, newest first. */
import type { AuditRow } from '../../../domain/audit.ts';
import type { Page, PageAsked } from '../../../domain/page.ts';
import { emptyPage, keyAfter, limitOf, pageOf } from '../../pages.ts';
import { auditRowOf, type AuditRecord } from '../../read/audit.ts';
import { fromText, fromTextOrNull } from '../server/text.ts';
import { num, whole, type Ask } from './ask.ts';

type Kept = AuditRecord & { readonly seq: number };

/** Before every row. */
const beforeAll: [number] = [Number.MAX_SAFE_INTEGER];

const rowsBehind =
  `SELECT ${num('seq', 'seq')}, ${num('at', 'at')}, action, target, status, reason ` +
  'FROM svc.audit WHERE seq < $1 ORDER BY audit.seq DESC LIMIT $2';

export async function listAudit(ask: Ask, asked: PageAsked): Promise<Page<AuditRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, beforeAll);
  if (after === null) return emptyPage;
  const rows = await ask<Kept>(rowsBehind, whole(after[0]), limit + 1);
  return pageOf(
    rows,
    limit,
    ({ seq }) => [seq],
    ({ action, reason, ...row }) =>
      auditRowOf({ ...row, action: fromText(action), reason: fromTextOrNull(reason) }),
  );
}
