import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerProbe } from '../../app/storage.ts';
import { databaseLines } from './doctor.ts';

const look = { schema: 2, stepsBehind: 0, bytes: 5 * 1024 * 1024, owner: null };

function told(more: Partial<ServerProbe>): readonly string[] {
  const lines = databaseLines({ ...look, ...more } as ServerProbe);
  return lines.map(({ mark, subject, message }) => `${mark} ${subject}: ${message}`);
}

test('the schema of a server is told with what the next start does about it', () => {
  const [now] = told({});
  assert.equal(now, 'ok database: is of this version (version 2 of the schema, 5.0 MiB)');
  assert.match(told({ schema: null })[0]!, /^ok database: has no tables of svc yet/);
  assert.match(told({ stepsBehind: 1 })[0]!, /^warning database: was written by an older svc/);
  assert.match(told({ stepsBehind: -1 })[0]!, /^failed database: was written by a newer svc/);
});

test('a svc that works on the database is told with its version', () => {
  assert.equal(told({})[1], 'ok owner: no svc works on the database');
  const owner = { version: '0.2.0', heartbeatAgoMs: 1_400 };
  const running = 'ok owner: a running svc (0.2.0) works on the database, seen 1 s ago';
  assert.equal(told({ owner })[1], running);
});
