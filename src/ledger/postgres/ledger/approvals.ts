/**
 * Approvals, shared by all instances of a database. The row decides whose decision was the first.
 * Each decision is a batch of its own, so no two instances wait for each other's rows.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Approval } from '../../../domain/approval.ts';
import type { ApprovalId } from '../../../domain/ids.ts';
import { ReadFailed, type Approvals, type Decided } from '../../ledger.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import { wireValue, type Ask } from '../read/lists.ts';
import { findByIdOrCode, listOwed, listWaiting } from '../read/messages.ts';
import { toText, toTextOrNull } from '../server/text.ts';

/** The longest wait of a caller. The query itself waits on for the server. */
const answerMs = 5_000;

const decide =
  'UPDATE svc.approval SET state = $2, decided_by = $3, decided_at = $4, decision = $5 ' +
  "WHERE id = $1 AND state = 'waiting' RETURNING id";
/** Finds out whether this very call decided, not another one of the same person. */
const decidedBefore = 'SELECT id FROM svc.approval WHERE id = $1 AND decision = $2';

type Deps = { readonly reads: Reads; readonly batches: PostgresBatches };

export class StoredApprovals implements Approvals {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  find(idOrCode: string): Promise<Approval | null> {
    return this.#read((ask) => findByIdOrCode(ask, idOrCode));
  }

  decide(id: ApprovalId, { verdict, by, at }: Decided) {
    const { batches } = this.#deps;
    const decision = randomUUID();
    const key = toText(id);
    let isFirst = false;
    batches.add({
      kind: 'single',
      text: decide,
      values: [key, verdict, toTextOrNull(by), Math.round(at), decision],
      again: { text: decidedBefore, values: [key, decision] },
      told: (rows) => void (isFirst = rows.length > 0),
    });
    return new Promise<'decided' | 'not_waiting' | 'storage_failed'>((resolve) => {
      const failed = (): void => resolve('storage_failed');
      batches.flushAlone({
        written: (landed) =>
          landed === null ? failed() : resolve(isFirst ? 'decided' : 'not_waiting'),
        refused: failed,
        conflicted: failed,
      });
    });
  }

  owed(now: number): Promise<readonly Approval[]> {
    return this.#read((ask) => listOwed(ask, now));
  }

  waiting(): Promise<readonly Approval[]> {
    return this.#read(listWaiting);
  }

  async #read<T>(question: (ask: Ask) => Promise<T>): Promise<T> {
    const ask = async <Row>(text: string, ...values: Parameters<typeof wireValue>[0][]) => {
      const pending = this.#deps.reads.ask({ text, values: values.map(wireValue) });
      const rows = await Promise.race([pending, pause(answerMs, null, { ref: false })]);
      if (rows !== null) return rows as readonly Row[];
      pending.catch(() => {});
      throw new ReadFailed('too_slow', 'The database server does not answer.');
    };
    return question(ask);
  }
}

/** Locks rows in one order, so no two deletes deadlock. `which`: SQL condition on `$1`, `$2`. */
export const deleteApprovals = (which: string): string => `
DELETE FROM svc.approval WHERE id = ANY(ARRAY(
  SELECT id FROM svc.approval WHERE ${which} AND message_id < $3 ORDER BY id FOR UPDATE
))`;

/** Replaces the name of a decider: `$1` is the replacement, `$2` the deleted name. */
export const forgetDecider = `
UPDATE svc.approval SET decided_by = $1 WHERE id = ANY(ARRAY(
  SELECT id FROM svc.approval WHERE decided_by = $2 ORDER BY id FOR UPDATE
))`;
