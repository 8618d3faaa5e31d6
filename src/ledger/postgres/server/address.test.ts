/** URLs of servers: their content, their problems, and that no password gets out. */
import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { test } from 'node:test';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { runs } from '../../../../test/support/runs.ts';
import { readAddress, type ServerAddress } from './address.ts';

function read(url: string): ServerAddress {
  const address = readAddress(url);
  assert.ok(
    address.kind === 'address',
    address.kind === 'problems' ? address.problems.join(' ') : '',
  );
  return address;
}

function problems(url: string): string {
  const address = readAddress(url);
  assert.ok(address.kind === 'problems', `${url} has to be refused`);
  return address.problems.join(' ');
}

test('a URL says where, who and what', () => {
  const address = read(
    'postgres://ann:s%40cr%2Fet%25@db.example:5433/mail%20box?application_name=a',
  );
  assert.deepEqual(address.hosts, [{ host: 'db.example', port: 5433 }]);
  assert.equal(address.user, 'ann');
  assert.equal(address.password(), 's@cr/et%');
  assert.equal(address.database, 'mail box');
  assert.equal(address.applicationName, 'a');
  assert.equal(String(address), 'database "mail box" on db.example:5433');
  const short = read('POSTGRESQL://ann@localhost');
  assert.equal(short.database, 'ann', 'it is called as the user');
  assert.equal(short.password(), null);
  assert.equal(short.applicationName, 'svc');
  assert.equal(read('postgres://localhost/x').user, userInfo().username);
  assert.equal(read('postgres://a:b+c@localhost/x').password(), 'b+c');
  assert.equal(read('postgres://localhost/x?user=a&password=b%26+c').password(), 'b&+c');
});

test('hosts are names, addresses and folders, several in their order', () => {
  const hosts = (url: string): unknown => read(url).hosts.map(({ host, port }) => [host, port]);
  assert.deepEqual(hosts('postgres://a@h1:1,h2,[::1]:3,10.0.0.1/x'), [
    ['h1', 1],
    ['h2', 5432],
    ['::1', 3],
    ['10.0.0.1', 5432],
  ]);
  const socket = [['/run/postgresql', 5432]];
  assert.deepEqual(hosts('postgres:///x?host=/run/postgresql'), socket);
  assert.deepEqual(hosts('postgres://%2Frun%2Fpostgresql/x'), socket);
  assert.deepEqual(hosts('postgres://a@/x?host=h1,h2&port=1,2'), [
    ['h1', 1],
    ['h2', 2],
  ]);
  assert.deepEqual(hosts('postgres://h1,h2/x?port=7'), [
    ['h1', 7],
    ['h2', 7],
  ]);
  assert.equal(String(read('postgres://a@[::1]:3/x')), 'database "x" on [::1]:3');
});

test('a server elsewhere is verified unless the URL says otherwise, and that is a warning', () => {
  const way = (url: string): readonly [string, number] => {
    const { encryption, warnings } = read(url);
    return [encryption, warnings.length];
  };
  assert.deepEqual(way('postgres://localhost/x'), ['disable', 0]);
  assert.deepEqual(way('postgres://127.0.0.2,[::1]/x?sslmode=require'), ['require', 0]);
  assert.deepEqual(way('postgres:///x?host=/run'), ['disable', 0]);
  assert.deepEqual(way('postgres://10.0.0.1/x'), ['verify-full', 0]);
  assert.deepEqual(way('postgres://localhost,db/x'), ['verify-full', 0]);
  assert.deepEqual(way('postgres://db/x?sslmode=verify-full'), ['verify-full', 0]);
  for (const mode of ['allow', 'prefer', 'require']) {
    assert.deepEqual(way(`postgres://db/x?sslmode=${mode}`), ['require', 1]);
  }
  assert.deepEqual(way('postgres://db/x?sslmode=disable'), ['disable', 1]);
  assert.deepEqual(way('postgres://db/x?sslmode=require&sslrootcert=/a'), ['verify-ca', 1]);
  assert.deepEqual(way('postgres://db/x?sslmode=verify-ca'), ['verify-ca', 1]);
  assert.match(read('postgres://db/x?sslmode=disable').warnings[0]!, /db:5432 is not encrypted/);
  assert.match(read('postgres://db/x?sslmode=require').warnings[0]!, /anybody may answer/);
});

test('what is wrong is told, with what to do', () => {
  assert.match(problems('mysql://h/x'), /begin with postgres:\/\//);
  assert.match(problems('postgres:///x'), /names no host/);
  assert.match(problems('postgres://::1/x'), /IPv6 address in brackets/);
  assert.match(problems('postgres://[::g]/x'), /names no host/);
  assert.match(problems('postgres://h:0/x'), /1 to 65535/);
  assert.match(problems('postgres://h:65536/x'), /1 to 65535/);
  assert.match(problems('postgres://a,b,c/x?port=1,2'), /number of ports/);
  assert.match(problems('postgres://h/x?sslmode=on'), /sslmode has to be one of disable, allow/);
  assert.match(problems('postgres://h/x?connect_timeout=0'), /whole seconds from 1/);
  assert.match(problems('postgres://h/x?options=-c'), /has options, which svc does not know; take/);
  assert.match(problems('postgres://h/x?sslmode=require&sslmode=disable'), /sslmode twice/);
  assert.match(problems('postgres://h/x?target_session_attrs=standby'), /svc writes/);
  assert.match(problems('postgres://a:%zz@h/x'), /% that begins no code/);
  assert.match(problems('postgres://h/x/y'), /a \/ too many/);
  assert.match(problems('postgres://a:p%00@h/x'), /a NUL/);
  const both = readAddress('postgres://h/x?a=1&sslmode=2');
  assert.ok(both.kind === 'problems');
  assert.equal(both.problems.length, 2);
});

test('a password is shown nowhere, whatever signs it has and wherever it goes wrong', () => {
  const part = fc.constantFrom('/', '?', '#', '@', ':', '%', '&', '=', '[', ',', ' ', '+', '\n');
  const password = fc
    .array(fc.oneof(fc.constant('kqx'), part), { minLength: 1, maxLength: 8 })
    .map((parts) => `kqx${parts.join('')}`);
  fc.assert(
    fc.property(password, fc.boolean(), (secret, isEncoded) => {
      const written = isEncoded ? encodeURIComponent(secret) : secret;
      const address = readAddress(`postgres://ann:${written}@db.example/x?sslmode=prefer`);
      if (isEncoded) {
        assert.ok(address.kind === 'address');
        assert.equal(address.password(), secret);
      }
      const shown = [inspect(address, { showHidden: true }), JSON.stringify(address)];
      if (address.kind === 'address') shown.push(address.toString(), ...address.warnings);
      for (const text of shown) assert.doesNotMatch(text, /kqx/);
    }),
    { numRuns: runs(500) },
  );
});
