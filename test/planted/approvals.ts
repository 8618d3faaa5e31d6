/** Faults of calls that wait for a person's yes. */
import type { Fault } from './fault.ts';

export const approvals: readonly Fault[] = [
  {
    name: 'Two people decide the same approval at once, in memory.',
    file: 'src/store/memory/approvals.ts',
    find: "if (approval?.state !== 'waiting') return 'not_waiting';",
    replace: "if (approval === undefined) return 'not_waiting';",
    seenBy: ['test/ledger-memory.test.ts'],
  },
  {
    name: 'Two people decide the same approval at once, in one file.',
    file: 'src/store/sqlite/ledger/approvals.ts',
    find: 'while (this.#deciding.has(id)) await this.#deciding.get(id);',
    replace: '',
    seenBy: ['test/ledger-sqlite.test.ts'],
  },
  {
    name: 'An instance decides an approval that another one has decided.',
    file: 'src/store/postgres/ledger/approvals.ts',
    find: '"WHERE id = $1 AND state = \'waiting\' RETURNING id"',
    replace: "'WHERE id = $1 RETURNING id'",
    seenBy: ['src/store/postgres/ledger/approvals.test.ts'],
  },
  {
    name: 'Whoever decides an approval second has decided it where the answer was lost.',
    file: 'src/store/postgres/ledger/approvals.ts',
    find: 'WHERE id = $1 AND decision = $2',
    replace: 'WHERE id = $1 AND $2::text IS NOT NULL',
    seenBy: ['src/store/postgres/ledger/approvals.test.ts'],
  },
  {
    name: 'A turn settles an approval that still waits.',
    file: 'src/store/sqlite/write/statements.ts',
    find: '"WHERE id = ? AND state <> \'waiting\' AND settled_at IS NULL"',
    replace: "'WHERE id = ? AND settled_at IS NULL'",
    seenBy: ['test/ledger-sqlite.test.ts'],
  },
  {
    name: 'An approval that waits is swept from a file.',
    file: 'src/store/sqlite/write/sweep.ts',
    find: 'SELECT id FROM approvals WHERE settled_at < ?',
    replace: 'SELECT id FROM approvals WHERE asked_at < ?',
    seenBy: ['src/store/sqlite/kept-for-a-time.test.ts'],
  },
  {
    name: 'An approval that waits is swept from a server.',
    file: 'src/store/postgres/ledger/sweep.ts',
    find: 'SELECT id FROM svc.approval WHERE settled_at < $1',
    replace: 'SELECT id FROM svc.approval WHERE asked_at < $1',
    seenBy: ['src/store/postgres/ledger/sweep.test.ts'],
  },
  {
    name: 'What a person had asked for stays on the disk when they are forgotten.',
    file: 'src/store/sqlite/ledger/forgetting.ts',
    find: '    await this.#approvals(asked);\n',
    replace: '',
    seenBy: ['test/ledger-sqlite.test.ts', 'src/store/sqlite/files/people.test.ts'],
  },
  {
    name: 'What a person had asked for stays on the server when they are forgotten.',
    file: 'src/store/postgres/ledger/forgetting.ts',
    find: '    await this.#approvals(asked);\n',
    replace: '',
    seenBy: ['test/ledger-postgres.test.ts'],
  },
  {
    name: 'A message that goes on with an approval has lost it after a restart.',
    file: 'src/store/ledger/bodies.ts',
    find: 'target: address.target, pairingCode, approval }',
    replace: 'target: address.target, pairingCode }',
    seenBy: ['test/ledger-sqlite.test.ts'],
  },
];
