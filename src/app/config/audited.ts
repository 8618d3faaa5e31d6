/** Writes an audit row for each change that a command makes in a ledger, as the admin API does. */
import type { AuditRow } from '../../domain/audit.ts';
import type { Admission, Admissions } from '../../domain/gate.ts';
import type { NotesOf } from '../../domain/note.ts';
import type { RetriedNow, WhichDeferred } from '../../domain/records.ts';
import type { MessageOwner } from '../../domain/story.ts';
import { NotOverwritten, type DeadLetterMove, type Ledger } from '../../ledger/ledger.ts';

/** The changes of the ledger that a person may ask for. */
export type LedgerWrites = Pick<Ledger, 'replay' | 'forget' | 'clearNotes'> &
  Pick<Ledger['deferred'], 'tryNow'> & {
    /** @param reason for the audit; null: the person gave none */
    discard(id: string, reason: string | null): Promise<DeadLetterMove>;
  };

/** The status that the admin API would answer. */
const statuses: Readonly<Record<DeadLetterMove, number>> = {
  done: 200,
  not_found: 404,
  not_kept: 409,
  storage_failed: 503,
};

/** @param now the ledger's time of day, in milliseconds since 1970 */
export function audited(ledger: Ledger, now: () => number): LedgerWrites {
  const note = noter(ledger, now);
  const move = async (
    action: 'replay' | 'discard',
    id: string,
    reason: string | null,
  ): Promise<DeadLetterMove> => {
    const result = await ledger[action](id);
    await note({ action, target: { id }, status: statuses[result], reason });
    return result;
  };
  const deletion = async (
    done: Pick<AuditRow, 'action' | 'target'>,
    act: () => Promise<number>,
  ): Promise<number> => {
    try {
      const deleted = await act();
      await note({ ...done, status: 200, reason: null });
      return deleted;
    } catch (error) {
      if (error instanceof NotOverwritten) await note({ ...done, status: 503, reason: null });
      throw error;
    }
  };
  return {
    replay: (id) => move('replay', id, null),
    discard: (id, reason) => move('discard', id, reason),
    async tryNow(which, most) {
      const result = await ledger.deferred.tryNow(which, most);
      await note({ ...tried(which), status: statusOf(which, result), reason: null });
      return result;
    },
    forget: (whose) => deletion(forgotten(whose), () => ledger.forget(whose)),
    clearNotes: (of) => deletion(cleared(of), () => ledger.clearNotes(of)),
  };
}

const admissionStatuses: Readonly<Record<Admission['kind'], number>> = {
  admitted: 200,
  not_found: 404,
  full: 409,
  storage_failed: 503,
};

/** The same for admitting and removing people. */
export function auditedAdmissions(
  ledger: Ledger,
  admissions: Admissions,
  now: () => number,
): Admissions {
  const note = noter(ledger, now);
  return {
    list: () => admissions.list(),
    async admit(code) {
      const admission = await admissions.admit(code);
      const status = admissionStatuses[admission.kind];
      await note({ action: 'pair', target: { code }, status, reason: null });
      return admission;
    },
    async remove(channel, sender) {
      const result = await admissions.remove(channel, sender);
      const target = { channel, sender };
      await note({ action: 'unpair', target, status: statuses[result], reason: null });
      return result;
    },
  };
}

function tried(which: WhichDeferred): Pick<AuditRow, 'action' | 'target'> {
  if (which.kind === 'one') return { action: 'try_delivery', target: { id: which.id } };
  const { channel } = which.filter;
  return { action: 'try_deliveries', target: channel === null ? {} : { channel } };
}

function statusOf(which: WhichDeferred, result: RetriedNow): number {
  if (result.kind === 'storage_failed') return 503;
  return which.kind === 'one' && result.moved === 0 ? 404 : 200;
}

type Note = (row: Omit<AuditRow, 'at'>) => Promise<boolean>;

/** @returns a function that adds an audit row, and says whether the ledger has one */
export function noter(ledger: Ledger, now: () => number): Note {
  return (row) => ledger.recordWrite({ at: now(), ...row });
}

function forgotten(whose: MessageOwner): Pick<AuditRow, 'action' | 'target'> {
  const { channel } = whose;
  return whose.kind === 'conversation'
    ? { action: 'forget_conversation', target: { channel, conversation: whose.conversation } }
    : { action: 'forget_sender', target: { channel, sender: whose.sender } };
}

function cleared(of: NotesOf): Pick<AuditRow, 'action' | 'target'> {
  if (of.kind === 'brain') return { action: 'clear_brain_notes', target: { brain: of.brain } };
  const { channel, conversation } = of;
  return { action: 'clear_notes', target: { channel, conversation } };
}
