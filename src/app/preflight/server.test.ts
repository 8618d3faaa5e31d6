import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerProbe } from '../storage.ts';
import { serverLines, unaskedLine } from './models.ts';

const fine: ServerProbe = {
  kind: 'looked',
  host: 'db.example:5432',
  version: '15.6',
  isKnown: true,
  tls: 'TLSv1.3',
  warnings: [],
  encoding: 'UTF8',
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: 'on',
  synchronousStandbys: 1,
  lacking: null,
  bytes: 8_000_000,
  schema: 1,
  stepsBehind: 0,
  owner: null,
  newestAt: null,
};

const linesOf = (more: Partial<ServerProbe> = {}) => serverLines({ ...fine, ...more }, 'DB_URL');

test('a server in order is told in marks of success alone', () => {
  assert.deepEqual(
    linesOf().map(({ mark, subject, message }) => `${mark} ${subject}: ${message}`),
    [
      'ok database server: answers at db.example:5432: PostgreSQL 15.6',
      'ok TLS: the way to the server is encrypted (TLSv1.3)',
      'ok durability: what is acknowledged is on its disk (fsync is on, synchronous_commit on)',
      'ok rights: the user may make and use the tables of svc',
      'ok encoding: the database keeps every character (UTF8)',
      'ok standby: a commit waits for 1 synchronous standby',
    ],
  );
});

const cases: readonly (readonly [string, Partial<ServerProbe>, string, RegExp])[] = [
  ['an old server', { isKnown: false, version: '12.1' }, 'failed', /12\.1, which is too old/],
  ['a way without TLS on this machine', { tls: null }, 'ok', /not in use: .* on this machine/],
  ['a way that is not encrypted', { tls: null, warnings: ['Bad way.'] }, 'warning', /^Bad way\.$/],
  ['fsync that is off', { fsync: false }, 'failed', /^fsync is off there/],
  [
    'commits that do not wait',
    { synchronousCommit: 'off' },
    'failed',
    /^synchronous_commit is off/,
  ],
  ['half pages', { fullPageWrites: false }, 'warning', /^full_page_writes is off/],
  ['a user without rights', { lacking: 'may not make a schema' }, 'failed', /user may not make a/],
  ['another encoding', { encoding: 'LATIN1' }, 'failed', /in LATIN1, and has to be in UTF8/],
  ['no standby', { synchronousStandbys: 0 }, 'ok', /^there is no synchronous one: /],
  ['standbys that cannot be seen', { synchronousStandbys: null }, 'ok', /may not see/],
];

for (const [what, more, mark, told] of cases) {
  test(`${what} is told once, with a remedy where one is needed`, () => {
    const [line, ...others] = linesOf(more).filter(({ message }) => told.test(message));
    assert.equal(line?.mark, mark);
    assert.equal(line.remedy !== null, mark !== 'ok');
    assert.deepEqual(others, []);
    const wrong = linesOf(more).filter((one) => one.mark !== 'ok');
    assert.equal(wrong.length, mark === 'ok' ? 0 : 1);
  });
}

test('a server that is away is one line, which names the variable', () => {
  const problem = { kind: 'problem', code: 'storage_unreachable', message: 'No.' } as const;
  const lines = serverLines({ ...problem, isPassing: true }, 'DB_URL');
  assert.deepEqual([lines.length, lines[0]?.mark, lines[0]?.message], [1, 'failed', 'No.']);
  assert.match(lines[0]?.remedy ?? '', /^DB_URL has its URL/);
  assert.match(unaskedLine('DB_URL').message, /DB_URL is not set/);
});
