/** The reader thread: how long it lives, and how a read ends that it cannot answer. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { ReadFailed } from '../../ledger.ts';
import { migrate } from '../files/migrations.ts';
import { createThreadReader, type ReaderLimits } from './thread-reader.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';

/** One database, one reader of it, and the threads started for it. */
class Bench implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-reader-'));
  readonly path = join(this.folder, 'svc.db');
  readonly threads: Worker[] = [];
  readonly reader;

  /** @param limits by default no read takes too long, even on a slow machine */
  constructor(limits: Partial<ReaderLimits> = {}) {
    const db = new DatabaseSync(this.path);
    db.exec('PRAGMA journal_mode = WAL');
    migrate(db);
    db.close();
    process.on('worker', this.#note);
    this.reader = createThreadReader(this.path, { readMs: 100_000, ...limits });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off('worker', this.#note);
    await this.reader[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true });
  }

  readonly #note = (worker: Worker): void => void this.threads.push(worker);
}

/** The reason of a read that must fail. */
async function reasonOf(read: Promise<unknown>): Promise<string> {
  const error = await read.then(
    () => assert.fail('the read was answered'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ReadFailed, String(error));
  assert.match(error.message, /^\S.*\.$/);
  return error.reason;
}

// The tests run one after the other, since they count the threads of the process.
suite('the reading thread', { concurrency: 1 }, () => {
  test('starts with the first read, ends when nobody asks, and comes again', async () => {
    await using it = new Bench({ restMs: 20 });
    assert.equal(it.threads.length, 0);
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.threads.length, 1);
    await once(it.threads[0]!, 'exit');
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.threads.length, 2);
  });

  test('answers many reads, and refuses those that are too many to wait', async () => {
    await using it = new Bench();
    const reads = Array.from({ length: 66 }, () => it.reader.story('nobody'));
    assert.equal(await reasonOf(reads.pop()!), 'busy');
    assert.deepEqual(
      await Promise.all(reads),
      reads.map(() => null),
    );
    assert.equal(it.threads.length, 1);
  });

  test('dies with the read at hand, and those that wait are answered by a new one', async () => {
    await using it = new Bench();
    await it.reader.story('nobody');
    const reads = Array.from({ length: 5 }, () =>
      it.reader.story('nobody').catch((error: unknown) => (error as ReadFailed).reason),
    );
    void it.threads[0]!.terminate();
    // At most one read is lost: the thread may have answered the first before it died.
    const lost = (await Promise.all(reads)).filter((end) => end !== null);
    assert.ok(lost.length <= 1 && lost.every((end) => end === 'storage'));
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.threads.length, 2);
  });

  // Only a tick passes here, so that no answer can arrive in between.
  const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

  test('is given up when a read takes too long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using it = new Bench({ readMs: 1 });
    const ends = [it.reader.story('nobody'), it.reader.story('nobody')].map(reasonOf);
    t.mock.timers.tick(1);
    t.mock.timers.tick(1);
    assert.deepEqual(await Promise.all(ends), ['too_slow', 'too_slow']);
    await tick();
    assert.equal(it.threads.length, 2);
  });

  test('has ended when the reader has, also one that was given up', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const it = new Bench({ readMs: 1 });
    const ends = [it.reader.story('nobody'), it.reader.story('nobody')].map(reasonOf);
    await tick();
    const [first] = it.threads;
    const mayEnd = Promise.withResolvers<number>();
    const { mock } = t.mock.method(first!, 'terminate', () => mayEnd.promise);
    t.mock.timers.tick(1);
    mock.restore();
    await tick();
    const closing = it[Symbol.asyncDispose]();
    let closed = false;
    void closing.then(() => (closed = true));
    assert.deepEqual(await Promise.all(ends), ['too_slow', 'closed']);
    await once(it.threads[1]!, 'exit');
    await new Promise(setImmediate);
    assert.equal(closed, false);
    mayEnd.resolve(await first!.terminate());
    await closing;
  });

  test('ends with the reader, which then answers nobody', async () => {
    const it = new Bench();
    const reads = [it.reader.story('nobody'), it.reader.story('nobody')];
    const ended = Promise.all(reads.map(reasonOf));
    await it[Symbol.asyncDispose]();
    assert.deepEqual(await ended, ['closed', 'closed']);
    assert.equal(await reasonOf(it.reader.story('nobody')), 'closed');
  });

  test('says why a database cannot be read', async () => {
    await using it = new Bench();
    rmSync(it.path);
    assert.equal(await reasonOf(it.reader.story('nobody')), 'storage');
  });

  test('keeps no process alive', async () => {
    await using it = new Bench();
    const file = new URL('./thread-reader.ts', import.meta.url).href;
    const script = `
      import { createThreadReader } from ${JSON.stringify(file)};
      console.log('%s', await createThreadReader(process.argv[2]).story('nobody'));`;
    const program = join(it.folder, 'program.mjs');
    writeFileSync(program, script);
    const ended = spawnSync(process.execPath, [program, it.path], {
      timeout: patienceMs,
      encoding: 'utf8',
    });
    assert.deepEqual([ended.status, ended.stdout], [0, 'null\n'], ended.stderr);
  });
});
