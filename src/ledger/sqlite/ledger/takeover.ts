/**
 * The storage of takeovers, the conversations that an operator answers by hand: reading them at a
 * start, and writing them.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { TakenOverConversation } from '../../../domain/takeover.ts';
import { memoryAfter } from '../../engine/memories.ts';
import type { StoredTakeovers } from '../../engine/storage.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import { turnEndWrites } from '../write/turn-writes.ts';
import type { HistoryCache } from './history-cache.ts';
import type { SqliteDeps } from './deps.ts';

/**
 * Marks the conversations under takeover in the working set. Call it before any row is restored, so
 * that none of theirs is offered.
 * @param now milliseconds since 1970: takeovers that ended by then are over
 */
export function findHeld(
  db: DatabaseSync,
  rows: WorkingSet,
  now: number,
): readonly TakenOverConversation[] {
  const found = db
    .prepare(
      'SELECT channel, conversation, since, until_at AS untilAt FROM holds WHERE until_at > ?',
    )
    .all(now) as unknown as readonly TakenOverConversation[];
  for (const { channel, conversation } of found) rows.takeOver(channel, conversation);
  return found;
}

export function storedTakeovers(deps: SqliteDeps, history: HistoryCache): StoredTakeovers {
  const { groupCommit, rows, held } = deps;
  return {
    found: held,
    keep({ channel, conversation }, hold) {
      if (hold === null) groupCommit.add(['holdEnded', channel, conversation]);
      else groupCommit.add(['hold', channel, conversation, hold.since, hold.untilAt]);
      return groupCommit.writtenNow();
    },
    expired(now) {
      groupCommit.add(['holdsOver', now]);
      groupCommit.flushSoon(() => {});
    },
    answered: (ends, then) =>
      new Promise((resolve) => {
        for (const end of ends) {
          const { row, effects } = end;
          const memory = memoryAfter(row.message, end.memory, effects, history.bounds);
          const writes = turnEndWrites(end, memory, true, () => rows.nextSeq());
          for (const write of writes) groupCommit.add(write);
        }
        groupCommit.flush(
          (result) => {
            if (result === null) return resolve('storage_failed');
            for (const { row } of ends) history.drop(row.message);
            then();
            resolve('answered');
          },
          () => resolve('storage_failed'),
        );
      }),
  };
}
