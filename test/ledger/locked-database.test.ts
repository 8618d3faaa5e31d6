/**
 * Another program writes the database for a while: a person with `sqlite3` and `BEGIN IMMEDIATE`,
 * or a backup tool. To SQLite that is SQLITE_BUSY (sqlite.org/wal.html, "there can be only one
 * writer at a time"). svc then does the same as on a full disk.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { startWriter, type StartWriter } from '../../src/ledger/sqlite/write/start-writer.ts';
import type { StorageRoom } from '../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  deliverAll,
  effects,
  exchange,
  isSettled,
  oneIn,
  said,
  takeIn,
  takeOut,
  textsIn,
  until,
  type Bench,
} from '../contract/ledger/kit.ts';
import { Crashes } from '../fake/crashes.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';

type World = AsyncDisposable &
  Bench & {
    readonly crashes: Crashes;
    readonly rooms: string[];
    readonly faults: unknown[];
    /** @returns a function that ends the lock */
    lock(): () => void;
  };

async function open(more: { readonly closeMs?: number } = {}): Promise<World> {
  const rooms: string[] = [];
  const faults: unknown[] = [];
  const news = { storageRoom: ({ kind }: StorageRoom): number => rooms.push(kind) };
  const onFault = (error: unknown): number => faults.push(error);
  const limits = { busyMs: 1, lockedMs: patienceMs, closeMs: patienceMs, ...more };
  const crashes = await Crashes.make({ limits, news, onFault });
  const it = await crashes.open();
  return {
    ...it,
    crashes,
    rooms,
    faults,
    lock: () => lockFile(crashes.path),
    [Symbol.asyncDispose]: () => crashes[Symbol.asyncDispose](),
  };
}

function lockFile(path: string): () => void {
  const db = new DatabaseSync(path, { timeout: patienceMs });
  db.exec('BEGIN IMMEDIATE');
  return () => {
    db.exec('ROLLBACK');
    db.close();
  };
}

suite('a database that another program has locked', { concurrency: 4 }, () => {
  test('refuses messages, keeps what is finished in order, and goes on by itself', async () => {
    await using it = await open();
    await exchange(it, 'cid', 'before', 'delivered while it is locked');
    await accept(it, said('ann', 'one'), said('ann', 'two'), said('bob', 'three'));
    const [ann, bob] = await takeIn(it, 2);
    const [reply] = await takeOut(it, 1);
    const unlock = it.lock();
    const refused = await it.ledger.accept([said('dee', 'too soon')]);
    assert.ok(refused.kind === 'refused' && refused.reason === 'full');
    assert.deepEqual([it.ledger.room().messages, it.rooms], [0, ['locked']]);
    const done = Promise.all([
      it.ledger.delivered(reply!),
      it.ledger.complete(ann!, effects(ann!, ['re: one'])),
      it.ledger.complete(bob!, effects(bob!, ['re: three'])),
    ]);
    assert.equal((await it.ledger.accept([said('dee', 'too soon')])).kind, 'refused');
    assert.equal(await isSettled(done), false);
    assert.equal(it.ledger.gauges().outboxWaiting, 0, 'no reply goes out before its commit');
    unlock();
    await until('there is room', () => it.ledger.room().messages > 0);
    assert.deepEqual(await done, [true, true, true]);
    assert.deepEqual([it.rooms, it.faults], [['locked', 'ok'], []]);
    await accept(it, said('dee', 'in time'));
    assert.deepEqual((await deliverAll(it)).sort(), ['re: one', 're: three']);
    const after = await it.crashes.crash();
    assert.deepEqual(textsIn(await takeIn(after, 10)).sort(), ['in time', 'two']);
  });

  test('is looked at again where nothing waits to be written', async () => {
    await using it = await open();
    const unlock = it.lock();
    assert.equal((await it.ledger.accept([said('dee', 'too soon')])).kind, 'refused');
    unlock();
    await it.ledger.whenRoom(new AbortController().signal);
    assert.deepEqual(it.rooms, ['locked', 'ok']);
    await accept(it, said('dee', 'in time'));
  });

  test('is waited for at the end, so that what is finished is written', async () => {
    await using it = await open();
    await accept(it, said('ann', 'one'));
    const ann = await oneIn(it);
    const unlock = it.lock();
    assert.equal((await it.ledger.accept([said('dee', 'too soon')])).kind, 'refused');
    const done = it.ledger.complete(ann, effects(ann, ['re: one']));
    const ended = it.ledger[Symbol.asyncDispose]();
    assert.equal(await isSettled(ended), false);
    unlock();
    await ended;
    assert.deepEqual([await done, it.faults], [true, []]);
    const after = await it.crashes.open();
    assert.deepEqual(await deliverAll(after), ['re: one']);
  });

  test('keeps no end waiting for ever, and no message is to blame', async () => {
    await using it = await open({ closeMs: 1 });
    await accept(it, said('ann', 'one'));
    const ann = await oneIn(it);
    const unlock = it.lock();
    assert.equal((await it.ledger.accept([said('dee', 'too soon')])).kind, 'refused');
    const done = it.ledger.complete(ann, effects(ann, ['re: one']));
    await it.ledger[Symbol.asyncDispose]();
    assert.equal(await done, false);
    unlock();
    const after = await it.crashes.open();
    const [again] = await takeIn(after, 1);
    assert.deepEqual([again!.message.text, again!.attempt], ['one', 1]);
    await answer(after, again!, 're: one');
    assert.deepEqual(await deliverAll(after), ['re: one']);
  });

  test('is waited for at a start', async () => {
    await using it = await open();
    await accept(it, said('ann', 'one'));
    await it.ledger[Symbol.asyncDispose]();
    let first = '';
    const start: StartWriter = async (data) => {
      const writer = await startWriter(data);
      assert.ok('on' in writer);
      const unlock = it.lock();
      writer.on('message', ({ kind }) => {
        first ||= kind;
        if (kind === 'locked') unlock();
      });
      return writer;
    };
    const started = it.crashes.open({ startWriter: start });
    assert.equal((await oneIn(await started)).message.text, 'one');
    assert.equal(first, 'locked');
  });

  test('is named where a start waits in vain', async () => {
    await using it = await open();
    await it.ledger[Symbol.asyncDispose]();
    const unlock = it.lock();
    const limits = { limits: { busyMs: 1, lockedMs: 1 } };
    await assert.rejects(it.crashes.open(limits), /is locked by another program.*end that one/);
    unlock();
  });
});

test('the service answers 503 and is unhealthy meanwhile, and then goes on by itself', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const file = await writeConfig(folder.path, {
    ...webhookConfig(at),
    storage: { path: 'svc.db' },
  });
  await using program = await serveHere(file, port);
  const ask = (text: string) => post(program.url, { sender_id: 'ada', conversation_id: 'a', text });
  const health = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/healthz`);
    return `${response.status} ${await response.text()}`;
  };
  assert.equal((await ask('first')).status, 200);
  await receiver.waitFor(1);
  const unlock = lockFile(join(folder.path, 'svc.db'));
  assert.equal((await ask('too soon')).status, 503);
  assert.match(await health(), /^503 .*another program has the database locked/);
  unlock();
  await until('it is healthy', async () => (await health()).startsWith('200'));
  assert.equal((await ask('in time')).status, 200);
  await receiver.waitFor(2);
  assert.equal(receiver.received.length, 2);
});
