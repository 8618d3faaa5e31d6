/** Connections: to the host that takes writes, within their time, verified, and never throwing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import type { Client } from 'pg';
import {
  newDatabase,
  noPostgres,
  ownPostgresTest,
  postgresTest,
} from '../../../../test/fake/postgres.ts';
import { noPgBouncer, startPgBouncer } from '../../../../test/fake/postgres/pgbouncer.ts';
import { own, PostgresServer, serverAccount } from '../../../../test/fake/postgres/server.ts';
import { Way } from '../../../../test/fake/postgres/way.ts';
import { connect, ConnectError, cut, sendTogether } from './connect.ts';
import { codeOf, faultOf } from './errors.ts';
import { isSettled } from '../../../../test/contract/ledger/kit.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';
import { fileURLToPath } from 'node:url';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/tls/', import.meta.url));

/** @param from the URL of a server. @returns the same URL, with `hosts` in front of its host */
function after(hosts: string, from: string): string {
  const url = new URL(from);
  return from.replace(url.host, `${hosts},${url.host}`);
}

async function codeOfConnect(url: string, timeoutMs?: number): Promise<string> {
  try {
    const client = await connect(url, timeoutMs === undefined ? {} : { timeoutMs });
    await client.end();
    return '';
  } catch (error) {
    assert.ok(error instanceof ConnectError);
    return codeOf(error);
  }
}

postgresTest('hosts that are away are passed over, and a silent one gets its share', async () => {
  const url = await newDatabase();
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const timeoutMs = 3 * patienceMs;
  mock.timers.enable({ apis: ['setTimeout'] });
  const asked = once(silent, 'connection');
  const connecting = connect(after(`127.0.0.1:1,127.0.0.1:${port}`, url), { timeoutMs });
  await asked;
  mock.timers.tick(patienceMs - 1);
  assert.equal(await isSettled(connecting), false, 'it is waited for');
  mock.timers.tick(1);
  mock.timers.reset();
  const client = await connecting;
  const { rows } = await client.query('SELECT count(*) AS n, 0.5::float8 AS f FROM (SELECT 1) x');
  assert.deepEqual(rows, [{ n: 1, f: 0.5 }], 'numbers are numbers');
  const named = await client.query("SELECT current_setting('application_name') AS name");
  assert.deepEqual(named.rows, [{ name: 'svc' }]);
  await client.end();
  const alone = `postgres://svc@127.0.0.1:${port}/x?connect_timeout=1`;
  assert.equal(await codeOfConnect(alone, 100_000), 'SVC_TIMEOUT');
  silent.close();
});

postgresTest(
  'a server that takes no writes is passed over, and told when it is alone',
  async () => {
    const url = await newDatabase();
    const name = new URL(url).pathname.slice(1);
    const admin = await connect(url);
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    assert.equal(await codeOfConnect(url), 'SVC_READ_ONLY');
    const look = await connect(url, { anyHost: true });
    await look.end();
    await admin.end();
  },
);

ownPostgresTest('a standby is passed over, and told when it is alone', async () => {
  await using standby = await PostgresServer.start();
  await standby.standBy();
  assert.equal(await codeOfConnect(standby.url()), 'SVC_STANDBY');
  const looked = await connect(standby.url(), { anyHost: true });
  await looked.end();
  const client = await connect(after(`127.0.0.1:${standby.port}`, await newDatabase()));
  const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
  assert.deepEqual(rows, [{ standby: false }]);
  await client.end();
});

postgresTest('a connection that is lost throws nowhere', async () => {
  const url = await newDatabase();
  await using way = await Way.to(url);
  const client = await connect(way.url(url));
  const ended = new Promise((resolve) => void client.once('end', () => resolve(null)));
  way.cut();
  await ended;
  const other = await connect(way.url(url));
  way.hold();
  const asked = other.query('SELECT 1');
  cut(other);
  await assert.rejects(asked, (error) => faultOf(error) === 'away');
  way.release();
  await way.close();
  assert.equal(await codeOfConnect(way.url(url)), 'ECONNREFUSED');
  await way.open();
  way.latencyMs = 5;
  assert.equal(await codeOfConnect(way.url(url)), '');
});

postgresTest('variables of the environment say nothing', async () => {
  const url = await newDatabase();
  const names = { PGPASSWORD: 'x', PGOPTIONS: '-c nothing=1', PGUSER: 'y', PGSSLMODE: 'require' };
  const before = { ...process.env };
  Object.assign(process.env, names);
  try {
    assert.equal(await codeOfConnect(url), '');
  } finally {
    for (const name of Object.keys(names)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
});

test(
  'through PgBouncer, transactions sent in one go are whole',
  { skip: noPostgres || noPgBouncer },
  async () => {
    const url = await newDatabase();
    await using pool = await startPgBouncer(url);
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect(pool.url(url))));
    await clients[0]!.query('CREATE TABLE t (n integer PRIMARY KEY, txid bigint)');
    const batches = clients.map(async (client, by) => {
      for (let round = 0; round < 10; round++) {
        const rows = [0, 1, 2].map((row) => by * 1_000 + round * 3 + row);
        const insert = 'INSERT INTO t VALUES ($1, txid_current())';
        await Promise.all([
          client.query('BEGIN'),
          ...rows.map((row) => client.query(insert, [row])),
          client.query('COMMIT'),
        ]);
      }
    });
    await Promise.all(batches);
    const { rows } = await clients[0]!.query('SELECT count(*) AS n FROM t GROUP BY txid');
    assert.deepEqual(new Set(rows.map(({ n }) => n)), new Set([3]));
    assert.equal(rows.length, 40);
    await Promise.all(clients.map((client) => client.end()));
  },
);

ownPostgresTest('a password is asked for, and a certificate is looked at', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
  const account = serverAccount();
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  copyFileSync(join(fixtures, 'shop.key.pem'), key);
  copyFileSync(join(fixtures, 'shop.pem'), certificate);
  chmodSync(key, 0o600);
  for (const one of [folder, key]) own(one, account);
  const settings = { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key };
  const access = ['hostssl all all all scram-sha-256'];
  await using server = await PostgresServer.start({ settings, access, password: 'right' });
  const url = (more: string, password = ':right'): string =>
    server.url().replace('svc@', `svc${password}@`) + more;
  const root = join(fixtures, 'authority.pem');
  assert.equal(await codeOfConnect(url('')), '28000', 'the server wants TLS');
  assert.equal(await codeOfConnect(url('?sslmode=require')), '');
  assert.equal(await codeOfConnect(url('?sslmode=require', '')), 'SVC_NO_PASSWORD');
  assert.equal(await codeOfConnect(url('?sslmode=require', ':wrong')), '28P01');
  assert.equal(await codeOfConnect(url(`?sslmode=verify-ca&sslrootcert=${root}`)), '');
  const unknown = await codeOfConnect(url('?sslmode=verify-full'));
  assert.match(unknown, /^UNABLE_TO_/);
  const otherName = await codeOfConnect(url(`?sslmode=verify-full&sslrootcert=${root}`));
  assert.equal(otherName, 'ERR_TLS_CERT_ALTNAME_INVALID');
  const gone = await codeOfConnect(url('?sslmode=verify-full&sslrootcert=/gone.pem'));
  assert.equal(gone, 'SVC_AUTHORITIES');
  rmSync(folder, { recursive: true });
});

/** How many bytes of the statements have not gone to the system yet. */
function heldBack(client: Client): number {
  const { connection } = client as unknown as {
    connection: { stream: { writableLength: number } };
  };
  return connection.stream.writableLength;
}

postgresTest(
  'what is asked in one go is sent when all of it is asked, and is answered',
  async () => {
    await using opened = new AsyncDisposableStack();
    const client = await connect(await newDatabase());
    opened.defer(() => cut(client));
    const [within, asked] = sendTogether(client, () => {
      const all = [client.query('SELECT 1 AS n'), client.query('SELECT $1::int AS n', [2])];
      const inner = sendTogether(client, () => client.query('SELECT 3 AS n'));
      return [heldBack(client), [...all, inner]];
    });
    assert.ok(within > 0, 'none is sent alone');
    assert.equal(heldBack(client), 0);
    const found = await Promise.all(asked);
    assert.deepEqual(
      found.map(({ rows }) => rows),
      [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]],
    );
  },
);

postgresTest('nothing that is asked in one go waits for ever', async () => {
  await using opened = new AsyncDisposableStack();
  const client = await connect(await newDatabase());
  opened.defer(() => cut(client));
  const failing = sendTogether(client, () => [
    client.query('SELECT 1 / 0'),
    client.query('SELECT $1::int', ['no number']),
    client.query('SELECT 1 AS n'),
  ]);
  const failed = await Promise.allSettled(failing);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  );
  let before: Promise<unknown> = Promise.resolve();
  assert.throws(() => {
    sendTogether(client, () => {
      before = client.query('SELECT 1');
      throw new Error('it cannot be asked');
    });
  }, /it cannot be asked/);
  assert.equal(heldBack(client), 0);
  await before;
  const lost = sendTogether(client, () => {
    const first = client.query('SELECT 1');
    cut(client);
    return [first, client.query('SELECT 2')];
  });
  const ends = await Promise.allSettled(lost);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await assert.rejects(sendTogether(client, () => client.query('SELECT 3')));
});
