/** Forgets a person or a conversation: first in memory, then in the storage. */
import type { IdSource } from '../../domain/ids.ts';
import type { ConversationKey, MessageOwner } from '../../domain/story.ts';
import type { OpenClaims } from './open-claims.ts';
import { isBefore, rowIsOf, type Row } from './queue.ts';
import { removeRows } from './removal.ts';
import type { WorkingSet } from './working-set.ts';
import type { Accepting } from './accepting.ts';
import type { ActiveTakeovers } from './takeover.ts';
import type { Forgotten, LedgerStorage, OthersRows } from './storage.ts';

export type ForgettingDeps = {
  readonly ids: IdSource;
  readonly rows: WorkingSet;
  readonly open: OpenClaims;
  readonly storage: LedgerStorage;
  readonly accepting: Accepting;
  /** Called when there may be more room. */
  readonly settled: () => void;
  readonly byHand: Pick<ActiveTakeovers, 'end'>;
};

const nobody: ReadonlySet<string> = new Set();

export class Forgetting {
  readonly #deps: ForgettingDeps;

  constructor(deps: ForgettingDeps) {
    this.#deps = deps;
  }

  /**
   * @returns how many messages, replies and turns were deleted. Rejects when the storage has failed
   */
  async forget(whose: MessageOwner): Promise<number> {
    const { ids, rows, storage, settled, byHand } = this.#deps;
    const before = rows.nextSeq();
    const theirs = { whose, beforeId: ids.message() };
    const gone = await this.forgetHere(theirs);
    const deleted = await storage.forgetting.forget({ ...theirs, ...gone, before });
    // The stored takeover names the conversation.
    if (whose.kind === 'conversation') await byHand.end(whose);
    storage.crashIsolation?.changed();
    settled();
    return deleted;
  }

  /** Removes messages that another process has answered. Work on them stops. */
  answeredHere(where: ConversationKey, ids: ReadonlySet<string>): void {
    const { rows, open, storage, settled } = this.#deps;
    const isOne = ({ box, head }: Row): boolean => box === 'in' && ids.has(head.id);
    removeRows(rows, open, { kind: 'conversation', ...where }, isOne);
    storage.crashIsolation?.changed();
    settled();
  }

  /**
   * Removes their rows from memory, also those on their way into or from the storage. Rejects when
   * the storage has failed.
   * @param answered ids of messages; replies to them are removed too
   */
  async forgetHere(
    theirs: OthersRows,
    answered: ReadonlySet<string> = nobody,
  ): Promise<Pick<Forgotten, 'removed' | 'remove'>> {
    const { rows, open, storage, accepting } = this.#deps;
    const { whose, beforeId } = theirs;
    const arrived = accepting.unwanted(theirs);
    const remove = (matches: (row: Row) => boolean): number =>
      removeRows(rows, open, whose, matches);
    const removeTheirs = (): number =>
      remove(
        (row) =>
          (rowIsOf(whose, row) && isBefore(row, beforeId)) ||
          (row.box === 'out' && answered.has(row.head.inReplyTo)),
      );
    let removed = removeTheirs();
    const written = await storage.written();
    arrived();
    if (!written) throw new Error('the storage has failed');
    await storage.unwanted?.(theirs);
    removed += removeTheirs();
    storage.crashIsolation?.changed();
    return { removed, remove };
  }
}
