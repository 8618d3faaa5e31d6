/** Faults of the ledger on PostgreSQL. */
import type { Fault } from './fault.ts';

const writer = 'src/ledger/postgres/write/writer.ts';
const batches = 'src/ledger/postgres/write/batches.ts';
const accepts = 'src/ledger/postgres/write/accepts.ts';

export const postgres: readonly Fault[] = [
  {
    name: 'An instance that another one took over from goes on writing.',
    file: writer,
    find: "'WHERE id = $1 AND NOT dead AND grp = $2::bigint - 1 RETURNING 1) SELECT",
    replace: "'WHERE id = $1 AND grp = $2::bigint - 1 RETURNING 1) SELECT",
  },
  {
    name: 'A batch whose answer was lost lands late, when it was written again already.',
    file: writer,
    find: 'THEN $2::bigint + 1 ELSE grp END',
    replace: 'THEN grp ELSE grp END',
  },
  {
    name: 'A batch whose answer was lost is sent again, though it had landed.',
    file: writer,
    find: 'if (stored === number + 1) {',
    replace: 'if (stored >= number) {',
  },
  {
    name: 'Of a server that was put back to an earlier state nobody is told.',
    file: writer,
    find: 'if (stored !== number) return failed(setBack());',
    replace: '',
  },
  {
    name: 'While another instance may have taken over, work is handed out.',
    file: batches,
    find: 'steady() - this.#confirmedAt <= times.holdMs',
    replace: 'steady() - this.#confirmedAt <= Infinity',
  },
  {
    name: 'What was heard is counted from the answer on, not from the question.',
    file: batches,
    find: 'this.#confirmedAt = begunAt;',
    replace: 'this.#confirmedAt = this.#deps.steady();',
  },
  {
    name: 'While the server is away nobody is refused.',
    file: batches,
    find: 'this.#watch();\n    while (!this.#broken) {',
    replace: '() => {};\n    while (!this.#broken) {',
  },
  {
    name: 'A resend of a message is worked again.',
    file: accepts,
    find: 'WHERE was.message_id <> x.id`;',
    replace: "WHERE was.message_id <> x.id AND was.message_id = ''`;",
  },
  {
    name: 'A key that has expired is known for ever.',
    file: accepts,
    find: 'WHERE was.expires_at <= $2`;',
    replace: 'WHERE was.expires_at < 0 AND $2 > 0`;',
  },
  {
    name: 'Messages of a conversation that come together change their order.',
    file: accepts,
    find: 'row_number() OVER (lane ORDER BY place)',
    replace: 'row_number() OVER (lane ORDER BY place DESC)',
  },
  {
    name: 'Replies of one turn go out in another order.',
    file: 'src/ledger/postgres/write/turns.ts',
    find: 'body text)\n  ORDER BY gone.place, one.place',
    replace: 'body text)\n  ORDER BY gone.place, one.place DESC',
  },
  {
    name: 'The tries of a reply are forgotten when it is delivered.',
    file: 'src/ledger/postgres/write/turns.ts',
    find: 'CASE WHEN x.tried IS NULL THEN was.tries ELSE',
    replace: 'CASE WHEN x.tried IS NULL THEN NULL ELSE',
    seenBy: ['test/ledger/reader-postgres.test.ts'],
  },
  {
    name: 'A server that loses what was acknowledged is taken.',
    file: 'src/ledger/postgres/server/problem.ts',
    find: "...(facts.synchronousCommit === 'off' ? ['synchronous_commit'] : []),",
    replace: '',
  },
  {
    name: 'To another machine the connection is not encrypted.',
    file: 'src/ledger/postgres/server/address.ts',
    find: "(far === undefined ? 'disable' : 'verify-full')",
    replace: "(far === undefined ? 'disable' : 'disable')",
  },
  {
    name: 'A PostgreSQL server that wants an unknown way to sign in ends the process.',
    file: 'src/ledger/postgres/server/connect.ts',
    find: '  containReading(client);\n',
    replace: '',
  },
  {
    name: 'A standby is taken for the server that takes writes.',
    file: 'src/ledger/postgres/server/connect.ts',
    find: 'if (standby && !anyHost) {',
    replace: 'if (standby && anyHost) {',
  },
  {
    name: 'A text with a NUL is refused.',
    file: 'src/ledger/postgres/server/text.ts',
    find: 'const signOrNul = /[\\0\\uE000]/;',
    replace: 'const signOrNul = /[\\uE000]/;',
  },
  {
    name: 'What the release before had in hand when it was killed counts as never tried.',
    file: 'src/ledger/postgres/peers/peers.ts',
    find: 'if (former.length > 0) {',
    replace: 'if (former.length > 99) {',
    seenBy: ['test/upgrade/former-release-postgres.test.ts'],
  },
  {
    name: 'What the release before had in hand counts as tried at each start.',
    file: 'src/ledger/postgres/peers/peers.ts',
    find: 'SET beside = true WHERE dead AND NOT beside',
    replace: 'SET beside = false WHERE dead AND NOT beside',
    seenBy: ['test/upgrade/former-release-postgres.test.ts'],
  },
  {
    name: 'Of what another release says of conversations the half that is known is believed.',
    file: 'src/ledger/postgres/ledger/invalidations.ts',
    find: 'if (changed === null) return dropMemory();',
    replace: 'if (changed === null) return;',
  },
  {
    name: 'A no to a configuration that cannot be read ends the vote with an error.',
    file: 'src/ledger/postgres/configs/shared-configs.ts',
    find: 'return refusalIn(fieldsOf(parseJson(json)));',
    replace: 'return refusalIn(JSON.parse(json) as Fields);',
  },
  {
    name: 'An upgrade of the server is committed step by step.',
    file: 'src/ledger/postgres/server/migrations.ts',
    find: 'for (const step of steps.slice(version)) await client.query(step);',
    replace:
      'for (const step of steps.slice(version)) await client.query(`${step}; COMMIT; BEGIN`);',
    seenBy: ['test/upgrade/killed-postgres.test.ts'],
  },
  {
    name: 'A change of the tables and a batch wait for each other.',
    file: 'src/ledger/postgres/server/migrations.ts',
    find: "await client.query('LOCK TABLE svc.instance IN ACCESS EXCLUSIVE MODE');",
    replace: '',
  },
  {
    name: 'A change of the tables that others held up is not tried again.',
    file: 'src/ledger/postgres/server/migrations.ts',
    find: "new Set(['55P03', '40P01'])",
    replace: "new Set(['55P03'])",
  },
  {
    name: 'A database is moved in which nobody has taken over from one that died.',
    file: 'src/ledger/migrate/migrate.ts',
    find: '(await countOf(client, unclean)) === 0',
    replace: '(await countOf(client, unclean)) >= 0',
    seenBy: ['test/ledger/migrate-instances-postgres.test.ts'],
  },
  {
    name: 'One that was halted writes into a database that was filled meanwhile.',
    file: 'src/ledger/migrate/migrate.ts',
    find: 'SET dead = true, beside = true, buried = true',
    replace: 'SET beside = true, buried = true',
    seenBy: ['test/ledger/migrate-instances-postgres.test.ts'],
  },
];
