/**
 * The search index of turns. The writer fills it between the groups, never within one. It takes the
 * newest turns first, then the older ones, down to the oldest. A deleted turn leaves the index in
 * the same transaction, whoever deletes it.
 *
 * empty → filled from the newest turn upward and downward → whole. An index with other word rules
 * than today's, or a damaged one, is emptied.
 */
import type { DatabaseSync } from 'node:sqlite';
import { wordRules, wordsOf } from '../../search/words.ts';

/**
 * The most turns of one step, which takes a millisecond or two. A group that arrives during a step
 * waits for it.
 */
const turnsAtOnce = 32;
const charactersAtOnce = 64 * 1024;
/** The pages of the index that one step merges. */
const pagesMerged = 16;
/** SQLITE_CORRUPT_VTAB, and SQLITE_CONSTRAINT, which an index part that exists twice causes. */
const damaged: ReadonlySet<number> = new Set([267, 19]);
/** After this many repairs nothing more is indexed until the next start. */
const repairsMax = 3;

/**
 * The trigger that removes deleted turns. Only the writer has it, since only the writer knows the
 * words. A freed place is given again, so the highest place in the index always belongs to an
 * existing turn.
 */
const removalTrigger = `
CREATE TEMP TRIGGER turn_unsearched AFTER DELETE ON main.turns
WHEN OLD.place <= (SELECT high FROM search_state) BEGIN
  INSERT INTO search (search, rowid, words)
    SELECT 'delete', OLD.place,
      svc_words(OLD.text, OLD.reply, OLD.sender, OLD.conversation)
    FROM search_state WHERE OLD.place > low;
  UPDATE search_state SET high = (
    SELECT coalesce(max(place), 0) FROM turns WHERE place < OLD.place
  ) WHERE high = OLD.place;
  UPDATE search_state SET low = min(low, high);
END`;

type Turn = {
  readonly place: number;
  readonly text: string;
  readonly reply: string | null;
  readonly sender: string | null;
  readonly conversation: string;
};

export type SearchIndex = {
  /** @returns whether there may be more turns to index */
  step(): boolean;
  /**
   * Rebuilds the index from its own content. Afterwards the separators between its parts contain no
   * beginning of a deleted word.
   */
  rewrite(): void;
};

/** @param db the writer's connection, with today's schema */
export function openSearchIndex(db: DatabaseSync): SearchIndex {
  db.function('svc_words', { deterministic: true }, (text, reply, sender, conversation) => {
    return wordsOf(...([text, reply, sender, conversation] as (string | null)[]));
  });
  db.exec(removalTrigger);
  const columns = 'SELECT place, text, reply, sender, conversation FROM turns WHERE';
  const state = db.prepare('SELECT low, high, rules FROM search_state');
  const newer = db.prepare(`${columns} place > ? ORDER BY place LIMIT ${turnsAtOnce}`);
  const older = db.prepare(`${columns} place <= ? ORDER BY place DESC LIMIT ${turnsAtOnce}`);
  const add = db.prepare('INSERT INTO search (rowid, words) VALUES (?, ?)');
  const merge = db.prepare("INSERT INTO search (search, rank) VALUES ('merge', ?)");
  const move = db.prepare('UPDATE search_state SET low = ?, high = ?');

  const addTurns = (turns: Iterable<Turn>): readonly Turn[] => {
    const added: Turn[] = [];
    let characters = 0;
    for (const turn of turns) {
      const { place, text, reply, sender, conversation } = turn;
      add.run(place, wordsOf(text, reply, sender, conversation));
      added.push(turn);
      characters += text.length + (reply?.length ?? 0);
      if (characters >= charactersAtOnce) break;
    }
    if (added.length > 0) merge.run(pagesMerged);
    return added;
  };
  const fill = (): boolean => {
    const { low, high, rules } = state.get() as { low: number; high: number; rules: string };
    if (rules !== wordRules) {
      empty(db);
      return true;
    }
    const above = addTurns(newer.iterate(high) as Iterable<unknown> as Iterable<Turn>);
    if (above.length > 0) {
      move.run(low, above.at(-1)!.place);
      return true;
    }
    if (low === 0) return false;
    const below = addTurns(older.iterate(low) as Iterable<unknown> as Iterable<Turn>);
    move.run(below.length === 0 ? 0 : below.at(-1)!.place - 1, high);
    return below.length > 0;
  };
  let repairs = 0;
  return {
    step() {
      if (repairs > repairsMax) return false;
      const ended = inTransaction(db, fill);
      if (ended === 'damaged') repairs++;
      return ended !== 'done';
    },
    rewrite() {
      db.exec(
        "INSERT INTO search (rowid, words) VALUES (-1, '0'); " +
          "INSERT INTO search (search) VALUES ('optimize'); " +
          "INSERT INTO search (search, rowid, words) VALUES ('delete', -1, '0')",
      );
    },
  };
}

/**
 * Runs one step as a transaction. A step waits for no sync: after a power cut the turns are indexed
 * again.
 */
function inTransaction(db: DatabaseSync, fill: () => boolean): 'more' | 'done' | 'damaged' {
  db.exec('PRAGMA synchronous = NORMAL');
  try {
    db.exec('BEGIN IMMEDIATE');
    const more = fill();
    db.exec('COMMIT');
    return more ? 'more' : 'done';
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    const { errcode = 0 } = error as { readonly errcode?: number };
    if (!damaged.has(errcode)) throw error;
    db.exec("UPDATE search_state SET rules = ''");
    return 'damaged';
  } finally {
    db.exec('PRAGMA synchronous = FULL');
  }
}

/** Empties the index. It then begins with the newest turn. */
function empty(db: DatabaseSync): void {
  db.exec("INSERT INTO search (search) VALUES ('delete-all')");
  db.prepare(
    'UPDATE search_state SET rules = ?, low = newest, high = newest ' +
      'FROM (SELECT coalesce(max(place), 0) AS newest FROM turns)',
  ).run(wordRules);
}
