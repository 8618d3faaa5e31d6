import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { systemClock } from '../lib/clock.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { EnvName } from '../config/secret-value.ts';
import type { StoragePlace } from '../config/storage-place.ts';
import { failure } from '../domain/failure.ts';
import { createEvents } from '../telemetry/events.ts';
import { createLog } from '../lib/log.ts';
import { watchStorage } from './storage-alerts.ts';

function listen(place: StoragePlace = { kind: 'file', path: '/svc.db' }) {
  const stream = new PassThrough();
  const log = createLog({ stream, level: 'info', format: 'json' });
  const events = createEvents({ log, ...systemClock });
  const lines = async (): Promise<string> => {
    await log.flush();
    return String(stream.read() ?? '');
  };
  return { ...watchStorage(events, place), events, lines };
}

test('a disk without room is a warning, and unhealthy until there is some', async () => {
  const it = listen();
  const { news, lines } = it;
  assert.deepEqual([it.health(), it.warnings()], [{ status: 'ok' }, []]);
  const mebibyte = 1024 * 1024;
  news.storageRoom!({ kind: 'low', freeBytes: 17.5 * mebibyte, freeBytesMin: 256 * mebibyte });
  assert.match(await lines(), /"warn".*storage_low.*has 17 MiB left, and under 256 MiB nothing/);
  assert.equal(it.health().status, 'failing');
  assert.equal(it.warnings()[0]?.code, 'storage_low');
  news.storageRoom!({ kind: 'full' });
  assert.match(await lines(), /"warn".*storage_full.*every second/);
  assert.deepEqual(it.health(), { status: 'failing', reason: 'the disk is full' });
  news.storageRoom!({ kind: 'ok' });
  assert.match(await lines(), /"info".*storage_room/);
  assert.deepEqual([it.health(), it.warnings()], [{ status: 'ok' }, []]);
});

test('a database that another program has locked is unhealthy, and that one is named', async () => {
  const it = listen();
  it.news.storageRoom!({ kind: 'locked', holder: 42 });
  const line = await it.lines();
  assert.match(line, /"warn".*storage_locked.*program \(process 42\) has the database locked/);
  const reason = 'another program has the database locked';
  assert.deepEqual(it.health(), { status: 'failing', reason });
  it.news.storageRoom!({ kind: 'ok' });
  assert.match(await it.lines(), /"info".*storage_free/);
  assert.deepEqual([it.health(), it.warnings()], [{ status: 'ok' }, []]);
});

test('a storage that failed is a fault, unless another program had it locked', async () => {
  const it = listen();
  it.news.storageRoom!({ kind: 'locked', holder: null });
  await it.lines();
  it.failed(new Error('it is locked'));
  assert.match(await it.lines(), /"warn".*storage_locked.*to the end.*End that program first/);
  it.news.storageRoom!({ kind: 'ok' });
  await it.lines();
  it.failed(new Error('a failed sync'));
  assert.match(await it.lines(), /"error".*"fault".*in the storage.*a failed sync/);
});

test('a server that does not answer is unhealthy until it answers again', async () => {
  const it = listen({ kind: 'server', urlEnv: 'DATABASE_URL' as EnvName });
  const { news, lines } = it;
  news.storageRoom!({ kind: 'away' });
  assert.match(await lines(), /"warn".*storage_away.*server does not answer.*Start the server/);
  const reason = 'the database server does not answer';
  assert.deepEqual(it.health(), { status: 'failing', reason });
  assert.equal(it.warnings()[0]?.path, 'storage.url_env');
  news.storageRoom!({ kind: 'ok' });
  assert.match(await lines(), /"info".*storage_back.*The database server answers again\./);
  assert.deepEqual([it.health(), it.warnings()], [{ status: 'ok' }, []]);
  news.storageRoom!({ kind: 'full' });
  assert.match(await lines(), /"warn".*storage_full.*The database server's disk is full/);
  assert.equal(it.warnings()[0]?.path, 'storage.url_env');
  news.storageRoom!({ kind: 'ok' });
  assert.match(await lines(), /"info".*storage_room.*has room again/);
});

test('a hold that ended by itself is told of', async () => {
  const { news, lines } = listen();
  news.holdOver!({ channel: 'webhook' as ChannelKey });
  assert.match(await lines(), /"info".*hold_over.*its brain goes on.*"channel":"webhook"/);
});

test('a clock that was ahead is told with how far, and whose it is', async () => {
  const day = 86_400_000;
  const file = listen();
  file.news.clockWasAhead!({ replies: 3, aheadMs: 40 * day });
  const line = await file.lines();
  assert.match(
    line,
    /"warn".*clock_was_ahead.*This machine's clock.*of 3 replies.*40 days too far/,
  );
  const server = listen({ kind: 'server', urlEnv: 'DATABASE_URL' as EnvName });
  server.news.clockWasAhead!({ replies: 1, aheadMs: 2 * 3_600_000 });
  assert.match(await server.lines(), /The database server's clock.*of 1 reply lay up to 2 h/);
});

test('a database that is brought up to date is told of', async () => {
  const { news, lines } = listen();
  news.storageUpgrading!({ from: 6, to: 7 });
  assert.match(await lines(), /"info".*storage_upgrading.*from version 6 of its schema to 7/);
});

test('a channel that is gone is named with the day on which its rows are given up', async () => {
  const { news, lines, events } = listen();
  const channel = 'messenger_a:77' as ChannelKey;
  news.unroutable!({ channel, rows: 3, since: 0, untilAt: Date.UTC(2030, 1, 2) });
  const line = await lines();
  assert.match(line, /"warn".*unroutable.*3 messages.*messenger_a:77.*2030-02-02T/);
  news.buried!({ box: 'in', channel, id: 'an id', failure: failure('unroutable') });
  assert.equal(events.meters.channels.get('messenger_a')?.deadLetters.in, 1);
});

test('a bug in the ledger is told as a fault', async () => {
  const { news, lines } = listen();
  news.faulted!(new Error('heard wrongly'));
  assert.match(await lines(), /"error".*"fault".*in the storage.*heard wrongly/);
});

test('a clock that differs from the server is a warning, until it agrees again', async () => {
  const it = listen({ kind: 'server', urlEnv: 'DATABASE_URL' as EnvName });
  it.clockIs(2_000);
  it.clockIs(-2_000);
  assert.equal(await it.lines(), '');
  assert.deepEqual(it.warnings(), []);
  it.clockIs(-300_400);
  const line = await it.lines();
  assert.match(line, /"warn".*clock_skewed.*clock is 300 s ahead of the database server's/);
  assert.match(line, /Set the clock that is wrong, .*\(NTP\)/);
  assert.equal(it.warnings()[0]?.code, 'clock_skewed');
  assert.deepEqual(it.health(), { status: 'ok' });
  it.clockIs(-1_500);
  assert.equal(await it.lines(), '', 'it is on its way, and told once');
  assert.equal(it.warnings().length, 1);
  it.clockIs(1_000);
  assert.match(await it.lines(), /"info".*clock_agrees/);
  assert.deepEqual(it.warnings(), []);
  it.clockIs(4_000);
  assert.match(await it.lines(), /clock is 4 s behind the database server's/);
});
