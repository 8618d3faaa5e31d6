/** A start that fails or is stopped at each of its places: its result, and resources left open. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import type { Ending } from '../../src/app/run-contract.ts';
import {
  assertClosed,
  end,
  failsToLoad,
  fullDocument,
  openNow,
  Places,
  setupOf,
} from './boot-stage.ts';
import { runCommand } from '../support/in-process.ts';
import {
  freePort,
  scratch,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { within } from '../support/waiting.ts';

type Stage = Awaited<ReturnType<typeof fullDocument>> & { readonly folder: string };

/** Boots to the end and returns the result; stops the service when it listens. */
async function boot({ folder, document }: Stage, at = -1, act: 'throw' | 'stop' = 'stop') {
  const before = openNow();
  const { setup, stopping, listening, log } = setupOf(folder, document);
  const places = new Places(at, (place) => {
    if (act === 'throw') throw new Error(`made to fail at ${place}`);
    stopping.abort();
  });
  let listened = false;
  const stopOnceUp = async (): Promise<void> => {
    await listening;
    listened = true;
    stopping.abort();
  };
  void stopOnceUp();
  const ending = await end(places.watch(setup), places);
  await setup.log.flush();
  const place = places.passed[at] ?? 'no place';
  await assertClosed(before, place);
  return { ending, listened, place, places: places.passed.length, log: log() };
}

/** The service boots fully, so earlier boots left nothing occupied. */
async function assertBoots(stage: Stage): Promise<void> {
  const { ending, listened, log } = await boot(stage);
  assert.deepEqual([ending.kind, listened], ['ended', true], log);
}

/** Counts the places of a boot whose modules are already loaded. */
async function countPlaces(stage: Stage): Promise<number> {
  await assertBoots(stage);
  const { places } = await boot(stage);
  assert.ok(places > 40, `${places} places`);
  return places;
}

async function withStage(run: (stage: Stage) => Promise<void>): Promise<void> {
  await using folder = await scratch();
  await run({ ...(await fullDocument()), folder: folder.path });
}

/** A run imports it, and svc retries runs. */
const notOfTheBoot = 'import ws';

test('a boot that throws, at whichever place, has failed and leaves nothing open', () =>
  withStage(async (stage) => {
    const places = await countPlaces(stage);
    for (let at = 0; at < places; at++) {
      const { ending, place, log } = await boot(stage, at, 'throw');
      if (place === notOfTheBoot) continue;
      assert.equal(ending.kind, 'failed', place);
      const told = `made to fail at ${place}`;
      assert.ok(
        log.includes(told) || ('message' in ending && ending.message.includes(told)),
        place,
      );
    }
    await assertBoots(stage);
  }));

test('a boot that is told to stop, at whichever place, ends and leaves nothing open', () =>
  withStage(async (stage) => {
    const places = await countPlaces(stage);
    for (let at = 0; at < places; at++) {
      const { ending, place, log } = await boot(stage, at, 'stop');
      assert.equal(ending.kind, 'ended', place);
      assert.doesNotMatch(log, /"level":"error"/, place);
    }
    await assertBoots(stage);
  }));

test('a boot that was told to stop before it began opens nothing', () =>
  withStage(async ({ folder, document }) => {
    const threads: Worker[] = [];
    const started = (worker: Worker): void => void threads.push(worker);
    process.on('worker', started);
    const { setup, stopping } = setupOf(folder, document);
    stopping.abort();
    assert.equal((await end(setup, null)).kind, 'ended');
    process.off('worker', started);
    assert.deepEqual(threads, []);
  }));

/** Prevents the start; the returned function undoes it. */
type Hindrance = (stage: Stage) => Promise<() => unknown>;

async function occupied(port: number): Promise<() => unknown> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return () => server.close();
}

function onWorker(act: (worker: Worker) => void): () => unknown {
  process.on('worker', act);
  return () => process.off('worker', act);
}

const portOf = (address: unknown): number =>
  Number(/:(\d+)$/.exec((address as { addr: string }).addr)?.[1]);

const nothingToUndo = (): void => {};

const hindrances: readonly [string, Ending['kind'], RegExp, Hindrance][] = [
  ["the webhook's address is taken", 'refused', /bind_failed/, ({ port }) => occupied(port)],
  [
    "the admin server's address is taken",
    'refused',
    /EADDRINUSE/,
    ({ document }) => occupied(portOf(document['observability'])),
  ],
  [
    'the database is in use',
    'failed',
    /in use/,
    async ({ folder }) => {
      const lock = new DatabaseSync(join(folder, 'svc.db.lock'));
      lock.exec('BEGIN EXCLUSIVE');
      return () => lock.close();
    },
  ],
  [
    'the database is none',
    'refused',
    /storage_foreign/,
    async ({ folder }) => {
      await writeFile(join(folder, 'svc.db'), 'no database, and long enough to be one '.repeat(99));
      return nothingToUndo;
    },
  ],
  [
    'the database belongs to another program',
    'refused',
    /storage_foreign/,
    async ({ folder }) => {
      const other = new DatabaseSync(join(folder, 'svc.db'));
      other.exec('PRAGMA application_id = 7; CREATE TABLE theirs (x)');
      other.close();
      return nothingToUndo;
    },
  ],
  [
    'a folder stands where the database should',
    'failed',
    /svc\.db/,
    async ({ folder }) => {
      await mkdir(join(folder, 'svc.db'));
      return nothingToUndo;
    },
  ],
  [
    'the folder of skills is not there',
    'refused',
    /skills_missing/,
    async ({ folder, document }) => {
      const skills_dir = join(folder, 'no-skills');
      document.brains[0]!['agent'] = { tools: ['time'], skills_dir };
      return nothingToUndo;
    },
  ],
  [
    'the storage thread ends before it is ready',
    'failed',
    /ended before it was ready/,
    async () => onWorker((worker) => void worker.terminate()),
  ],
  [
    'the storage thread ends while it recovers',
    'failed',
    /svc\.db|storage failed/,
    async () => onWorker((worker) => worker.once('message', () => void worker.terminate())),
  ],
];

for (const [name, kind, says, hinder] of hindrances) {
  test(`a boot ends and leaves nothing open: ${name}`, () =>
    withStage(async (stage) => {
      const undo = await hinder(stage);
      const { ending } = await boot(stage);
      await undo();
      assert.equal(ending.kind, kind);
      assert.match(JSON.stringify(ending), says);
    }));
}

const parts = ['marked', '@discordjs/rest', 'sqlite.ts', 'thread-reader.ts', 'server.ts'];

for (const name of parts) {
  test(`a boot ends and leaves nothing open: ${name} cannot be loaded`, () =>
    withStage(async ({ folder, document }) => {
      const before = openNow();
      const { setup, log } = setupOf(folder, document);
      assert.equal((await end(setup, failsToLoad(name))).kind, 'failed');
      await setup.log.flush();
      assert.match(log(), new RegExp(`made to fail: ${RegExp.escape(name)}`));
      await assertClosed(before, name);
    }));
}

test('a storage that fails to close keeps nothing else open, and it is told', () =>
  withStage(async (stage) => {
    const undo = onWorker((worker) => {
      const terminate = worker.terminate.bind(worker);
      worker.terminate = async () => {
        await terminate();
        throw new Error('made to fail at its end');
      };
    });
    const { ending, listened, log } = await boot(stage);
    undo();
    assert.deepEqual([ending.kind, listened], ['ended', true]);
    assert.match(log, /in closing the storage.*made to fail at its end/);
    await assertBoots(stage);
  }));

test('a storage that does not answer keeps nothing else open, and the run has failed', (t) =>
  withStage(async ({ folder, document }) => {
    const asked = Promise.withResolvers<void>();
    const undo = onWorker((worker) => {
      const post = worker.postMessage.bind(worker);
      worker.postMessage = (message: { kind?: string }) => {
        if (message.kind === 'close') asked.resolve();
        else post(message);
      };
    });
    const before = openNow();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { setup, stopping, listening, log } = setupOf(folder, document);
    const ended = end(setup, null);
    await listening;
    undo();
    stopping.abort();
    await asked.promise;
    t.mock.timers.tick(9_999);
    await setup.log.flush();
    assert.doesNotMatch(log(), /in the storage/);
    t.mock.timers.tick(1);
    assert.equal((await ended).kind, 'failed');
    await setup.log.flush();
    assert.match(log(), /in the storage.*it did not close in time/);
    t.mock.timers.reset();
    await assertClosed(before, 'a silent storage');
  }));

test('a boot whose storage never comes to be open is given up at a signal', (t) =>
  withStage(async ({ folder, document }) => {
    const opened = Promise.withResolvers<Worker>();
    const undo = onWorker((worker) => {
      const emit = worker.emit.bind(worker);
      worker.emit = (event: string, ...told: unknown[]) => {
        if (event !== 'message') return emit(event, ...told);
        opened.resolve(worker);
        return true;
      };
    });
    const before = openNow();
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { setup, stopping } = setupOf(folder, document);
    const ended = end(setup, null);
    const worker = await opened.promise;
    undo();
    stopping.abort();
    await turn();
    t.mock.timers.tick(2_000);
    assert.equal((await ended).kind, 'ended');
    t.mock.timers.reset();
    await worker.terminate();
    await assertClosed(before, 'a storage that is never open');
  }));

test('a secret that is missing ends the command with 78 before anything is opened', async () => {
  await using folder = await scratch();
  const before = openNow();
  const { document } = await fullDocument();
  await writeConfig(folder.path, document);
  const { code, err } = await runCommand(['serve'], { cwd: folder.path });
  assert.equal(code, 78);
  assert.match(err, /WEBHOOK_SECRET is not set/);
  await assertClosed(before, 'a missing secret');
});

/**
 * The program with storage and a messenger whose library hangs or throws while it loads. A hanging
 * library keeps the process alive.
 */
async function startWithout(library: 'hangs' | 'throws', folder: string) {
  const ports = { port: await freePort(), adminPort: await freePort() };
  const nowhere = { modelUrl: 'http://127.0.0.1:9', receiverUrl: 'http://127.0.0.1:9' };
  const document = webhookConfig({ ...ports, ...nowhere });
  document.channels.push({ type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN' });
  document.routes.push({ channel: 'discord', brain: 'echo' });
  const file = await writeConfig(folder, { ...document, storage: { path: 'svc.db' } });
  const hook = pathToFileURL(join(import.meta.dirname, '../fixtures', 'library-at-load.mjs'));
  return startProgram(['serve', '--config', file], {
    WEBHOOK_SECRET: secret,
    DISCORD_TOKEN: `${Buffer.from('1234567890').toString('base64')}.abcdef.${'a'.repeat(30)}`,
    LIBRARY_AT_LOAD: library,
    NODE_OPTIONS: `--import=${hook.href}`,
  });
}

// Only the program's own time limits end these four. The tests above and those in src/app/ check
// these limits with a clock.
test('the program whose start hangs heeds a SIGTERM: it ends with 0', async () => {
  await using folder = await scratch();
  await using program = await startWithout('hangs', folder.path);
  await program.saw('the library is loading');
  program.child.kill('SIGTERM');
  assert.equal(await within('its end', program.ended), 0, program.log());
});

test('the program whose start throws says so and ends with 1', async () => {
  await using folder = await scratch();
  await using program = await startWithout('throws', folder.path);
  await program.saw('this library was made to fail');
  assert.equal(await within('its end', program.ended), 1, program.log());
});

/** The program with storage, whose writing thread hangs in a system call. */
async function startOnHungDisk(at: 'open' | 'close', folder: string) {
  const ports = { port: await freePort(), adminPort: await freePort() };
  const nowhere = { modelUrl: 'http://127.0.0.1:9', receiverUrl: 'http://127.0.0.1:9' };
  const file = await writeConfig(folder, {
    ...webhookConfig({ ...ports, ...nowhere }),
    storage: { path: 'svc.db' },
  });
  const pipe = join(folder, 'pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  const hook = pathToFileURL(join(import.meta.dirname, '../fixtures', 'hung-disk.mjs'));
  return startProgram(['serve', '--config', file], {
    WEBHOOK_SECRET: secret,
    DISK_HANGS_AT: at,
    DISK_PIPE: pipe,
    NODE_OPTIONS: `--import=${hook.href}`,
  });
}

const noPipes = process.platform === 'win32';

test(
  'the program that hangs as it opens its storage heeds a SIGTERM',
  { skip: noPipes },
  async () => {
    await using folder = await scratch();
    await using program = await startOnHungDisk('open', folder.path);
    await program.saw('the disk hangs');
    program.child.kill('SIGTERM');
    assert.equal(await within('its end', program.ended), 'SIGKILL', program.log());
  },
);

test('a second SIGTERM ends the program that hangs as it closes', { skip: noPipes }, async () => {
  await using folder = await scratch();
  await using program = await startOnHungDisk('close', folder.path);
  await program.saw('"listening"');
  program.child.kill('SIGTERM');
  await program.saw('the disk hangs');
  program.child.kill('SIGTERM');
  // The signal may arrive just before the thread hangs.
  const asked = 128 + constants.signals.SIGTERM;
  const ends: readonly (number | string)[] = ['SIGKILL', asked];
  assert.ok(ends.includes(await within('its end', program.ended)), program.log());
});
