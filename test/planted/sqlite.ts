/** Faults of the ledger on SQLite. */
import type { Fault } from './fault.ts';

export const sqlite: readonly Fault[] = [
  {
    name: 'A message is acknowledged before it is on the disk.',
    file: 'src/store/sqlite/sqlite-storage.ts',
    find: "this.#journal.flush(written, () => resolve(refused('full', storageRetryMs)));",
    replace: 'this.#journal.flush(() => {});\n      written(new Map());',
  },
  {
    name: 'What is committed is not synced.',
    file: 'src/store/sqlite/writer.ts',
    find: '    proveSync(db);\n',
    replace: "    proveSync(db);\n    db.exec('PRAGMA synchronous = OFF');\n",
    seenBy: ['test/chaos/power-cut.test.ts'],
  },
  {
    name: 'The reply of a finished turn is not in its commit.',
    file: 'src/store/sqlite/turn.ts',
    find: 'writes.push(replyWrite(made.seq, made.reply));',
    replace: 'replyWrite(made.seq, made.reply);',
  },
  {
    name: 'A turn does not see the turn before.',
    file: 'src/store/sqlite/sqlite-storage.ts',
    find: 'else this.history.put(message, memory);',
    replace: '',
  },
  {
    name: 'The reply to a message that was deleted while it was answered goes out.',
    file: 'src/store/ledger/ledger.ts',
    find: 'if (!row.gone) {',
    replace: 'if (row.taken || !row.taken) {',
  },
  {
    name: 'A delivered reply goes out again at the next start.',
    file: 'src/store/sqlite/sqlite-storage.ts',
    find: "this.#journal.add(['outboxSettled', at, at - row.takenAt, row.seq]);",
    replace: '',
  },
  {
    name: 'A dead letter is offered again at the next start.',
    file: 'src/store/sqlite/statements.ts',
    find: "outboxDead: 'UPDATE outbox SET state = 2",
    replace: "outboxDead: 'UPDATE outbox SET state = 0",
  },
  {
    name: 'A note over the limit stays.',
    file: 'src/store/sqlite/statements.ts',
    find: 'LIMIT 1 OFFSET ?3)',
    replace: 'LIMIT 1 OFFSET ?3 + 1)',
  },
  {
    name: 'After a crash the messages of a conversation come in the wrong order.',
    file: 'src/store/sqlite/recovery.ts',
    find: 'FROM inbox WHERE state = 0 ORDER BY seq',
    replace: 'FROM inbox WHERE state = 0 ORDER BY seq DESC',
  },
  {
    name: 'A reply that was on its way at a crash is not marked as a possible duplicate.',
    file: 'src/store/sqlite/recovery.ts',
    find: 'record.possible_duplicate === 1 || maySent,',
    replace: 'record.possible_duplicate === 1,',
  },
  {
    name: 'A crash moves a reply along its schedule.',
    file: 'src/store/sqlite/recovery.ts',
    find: 'replayedAfter: record.replayed + died,',
    replace: 'replayedAfter: record.replayed,',
  },
  {
    name: 'The days for which messages are kept count as minutes and a half.',
    file: 'src/store/sqlite/sweep.ts',
    find: 'const dayMs = 86_400_000;',
    replace: 'const dayMs = 86_400;',
  },
  {
    name: 'Where everything is to be kept, everything is deleted.',
    file: 'src/store/sqlite/sweep.ts',
    find: 'retentionDays === 0 ? 0 : now - retentionDays * dayMs',
    replace: 'now - retentionDays * dayMs',
  },
  {
    name: 'What was deleted can still be read from the file.',
    file: 'src/store/sqlite/writer.ts',
    find: 'PRAGMA secure_delete = ON;',
    replace: 'PRAGMA secure_delete = OFF;',
  },
  {
    name: 'A message that ends the process ends it at every start.',
    file: 'src/store/sqlite/quarantine.ts',
    find: 'export const aloneMax = 2;',
    replace: 'export const aloneMax = 1_000;',
  },
  {
    name: 'Messages are accepted though the disk is nearly full.',
    file: 'src/store/sqlite/disk-watch.ts',
    find: "full ? 'full' : this.#low ? 'low' : 'ok'",
    replace: "full ? 'full' : 'ok'",
  },
  {
    name: 'What an agent noted of a deleted conversation stays.',
    file: 'src/store/sqlite/forgetting.ts',
    find: "journal.add(['notesForgotten', ...place, before]);",
    replace: '',
  },
  {
    name: 'A call that had begun before a crash is made once more.',
    file: 'src/store/begun-calls.ts',
    find: 'call.kept.hash === hash && call.claim !== claim',
    replace: 'call.kept.hash === hash && call.claim !== claim && call.claim !== null',
  },
];
