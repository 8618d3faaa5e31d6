import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { scratch } from '../../../../test/support/program.ts';
import {
  attacksOn,
  bait,
  buildWorld,
  bytesMax,
  canary,
} from '../../../../test/agents/read-file-attacks.ts';
import { callTool, type Called } from '../../../../test/agents/tool-call.ts';
import { openOnLinux, openByComparing, type Cage } from './cage.ts';
import { createReadFile } from './read-file.ts';
import { runs } from '../../../../test/support/runs.ts';

const onLinux = process.platform === 'linux';
const byHandles: Cage = async (root, parts) => (await openOnLinux(root, parts))!;
const cages = { ...(onLinux && { 'by handles': byHandles }), 'by comparing': openByComparing };

async function read(root: string, path: string, limit = bytesMax): Promise<Called> {
  return callTool(createReadFile({ root, bytesMax: limit }), { path });
}

for (const [name, cage] of Object.entries(cages)) {
  test(`each cage alone tells what the table says, and lets nothing out: ${name}`, async () => {
    await using folder = await scratch();
    await using world = await buildWorld(folder.path);
    const tool = createReadFile({ root: world.link, bytesMax }, cage);
    const handles = openHandles();
    for (const attack of attacksOn(world)) {
      const { path } = attack.arguments as { path?: unknown };
      if (typeof path !== 'string' || path === '') continue;
      const called = await callTool(tool, { path });
      assert.match(called.text, attack.told, attack.name);
      assert.ok(!called.text.includes(canary), attack.name);
    }
    assert.equal(openHandles(), handles, 'every handle was closed');
  });
}

test('no path that is put together of odd parts leads out', async () => {
  await using folder = await scratch();
  await using world = await buildWorld(folder.path);
  const { root, outside } = world;
  const names = ['docs', 'notes.txt', 'to-folder', 'to-file', 'inwards', 'canary.txt', 'outside'];
  const odd = [
    '..',
    '.',
    '',
    '...',
    '%2e%2e',
    '\u2024\u2024',
    '..\u200b',
    '\0',
    '~',
    root,
    outside,
  ];
  const part = fc.constantFrom(...names, ...odd);
  const slash = fc.constantFrom('/', '/', '/', '//', '\\', '/./', '%2f', '\u2215');
  const path = fc
    .tuple(fc.array(fc.tuple(part, slash), { maxLength: 6 }), part)
    .map(([front, last]) => front.flat().join('') + last);
  const tools = Object.values(cages).map((cage) => createReadFile({ root, bytesMax }, cage));
  const all = fc.asyncProperty(path, fc.constantFrom(...tools), async (wanted, tool) => {
    const { text } = await callTool(tool, { path: wanted });
    assert.ok(!text.includes(canary));
  });
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  await fc.assert(all, { seed, numRuns: runs(1_000) });
});

const openHandles = (): number => (onLinux ? fs.readdirSync('/proc/self/fd').length : 0);

test('a text is cut between characters, whatever their lengths, at the limit', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'text');
  for (const [text, limit, kept] of [
    ['aé', 3, 'aé'],
    ['aéb', 3, 'aé'],
    ['aéb', 2, 'a'],
    ['a🙂b', 4, 'a'],
    ['a🙂b', 5, 'a🙂'],
    ['\ufeffab', 4, 'a'],
    ['x'.repeat(200_000), 131_072, 'x'.repeat(131_072)],
  ] as const) {
    fs.writeFileSync(file, text);
    const called = await read(folder.path, 'text', limit);
    const size = Buffer.byteLength(text);
    const expected = size > limit ? `${kept}\n[cut: the first ${limit} of ${size} bytes]` : kept;
    assert.deepEqual(called, { kind: 'done', text: expected, cut: size > limit });
  }
});

test('a byte that is no text is refused also where the text is cut behind it', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'text');
  for (const bytes of [
    [0x61, 0xe2, 0x82, 0x61, 0x61],
    [0x61, 0x80, 0x61, 0x61],
    [0x61, 0xe2],
  ]) {
    fs.writeFileSync(file, Buffer.from(bytes));
    const called = await read(folder.path, 'text', 4);
    assert.deepEqual(called, {
      kind: 'refused',
      rule: 'not_text',
      text: 'That file is not UTF-8 text.',
    });
  }
});

test('a file that grows while it is read gives no more than the limit', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'log');
  fs.writeFileSync(file, bait);
  for (let count = 0; count < 50; count++) {
    const reading = read(folder.path, 'log', 100_000);
    for (let turn = 0; turn < count; turn++) {
      fs.appendFileSync(file, 'more\n'.repeat(1_000));
      await setImmediate();
    }
    const called = await reading;
    assert.equal(called.kind, 'done');
    assert.ok(called.text.length < 100_100 && called.text.startsWith(bait));
  }
});

test('a pipe without a writer and a hundred of them hold nobody up', async () => {
  await using folder = await scratch();
  await using world = await buildWorld(folder.path);
  const tool = createReadFile({ root: world.root, bytesMax });
  const all = Array.from({ length: 100 }, () => callTool(tool, { path: 'pipe' }));
  for (const called of await Promise.all(all)) assert.equal(called.kind, 'refused');
});

test('no file of the database that is in use is opened, under whatever name', async () => {
  await using folder = await scratch();
  const heldDatabase = join(folder.path, 'svc.db');
  const tool = createReadFile({ root: folder.path, bytesMax, heldDatabase });
  const names = ['svc.db', 'svc.db-wal', 'svc.db-shm', 'svc.db.lock', './svc.db'];
  for (const name of names) fs.writeFileSync(join(folder.path, name), canary);
  for (const path of names) {
    const called = await callTool(tool, { path });
    assert.ok(called.kind === 'refused' && called.rule === 'in_use', path);
  }
  fs.writeFileSync(join(folder.path, 'svc.db.txt'), 'another');
  assert.equal((await callTool(tool, { path: 'svc.db.txt' })).kind, 'done');
});

test('what this user may not read is said to be so', async (context) => {
  if (process.getuid?.() === undefined) return context.skip('there are no users here');
  await using folder = await scratch();
  for (const name of ['', 'root', 'root/shut', 'root/open']) {
    fs.mkdirSync(join(folder.path, name), { recursive: true });
    // Independent of the umask.
    fs.chmodSync(join(folder.path, name), 0o755);
  }
  fs.writeFileSync(join(folder.path, 'root/open/secret.txt'), canary, { mode: 0o000 });
  fs.writeFileSync(join(folder.path, 'root/shut/secret.txt'), canary);
  fs.chmodSync(join(folder.path, 'root/shut'), 0o000);
  const asRoot = process.getuid() === 0;
  if (asRoot) process.seteuid!(65_534);
  try {
    await fs.promises.stat(folder.path);
  } catch {
    process.seteuid!(0);
    return context.skip('the temporary files of root are for root alone');
  }
  try {
    for (const path of ['open/secret.txt', 'shut/secret.txt']) {
      const called = await read(join(folder.path, 'root'), path);
      assert.deepEqual(called, { kind: 'failed', text: 'The service may not read that file.' });
    }
  } finally {
    if (asRoot) process.seteuid!(0);
    fs.chmodSync(join(folder.path, 'root/shut'), 0o700);
  }
});

test('the views of the kernel are no files, also below a root of /', async (context) => {
  if (!onLinux) return context.skip('there is no /proc here');
  for (const path of [`proc/${process.pid}/environ`, `proc/${process.pid}/cmdline`]) {
    const called = await read('/', path);
    assert.ok(called.kind === 'refused' && called.rule === 'system_view', called.text);
  }
  const called = await read('/proc', `${process.pid}/environ`);
  assert.ok(called.kind === 'refused' && called.rule === 'system_view', called.text);
});

test('a root that is missing at the start is refused, whatever comes in its place', async () => {
  await using folder = await scratch();
  const root = join(folder.path, 'later');
  const tool = createReadFile({ root, bytesMax });
  const absent = await callTool(tool, { path: 'a.txt' });
  assert.ok(absent.kind === 'refused' && absent.rule === 'root_absent', absent.text);
  fs.mkdirSync(root);
  fs.writeFileSync(join(root, 'a.txt'), bait);
  assert.deepEqual(await callTool(tool, { path: 'a.txt' }), absent);
  fs.rmSync(root, { recursive: true });
  fs.symlinkSync(folder.path, root);
  fs.writeFileSync(join(folder.path, 'a.txt'), canary);
  assert.deepEqual(await callTool(tool, { path: 'a.txt' }), absent);
  const anew = createReadFile({ root, bytesMax });
  assert.equal((await callTool(anew, { path: 'a.txt' })).text, canary, 'a reload looks again');
});

test('a root that goes is missed, and the same path is read again', async () => {
  await using folder = await scratch();
  const root = join(folder.path, 'now');
  fs.mkdirSync(root);
  const tool = createReadFile({ root, bytesMax });
  fs.rmSync(root, { recursive: true });
  assert.equal((await callTool(tool, { path: 'a.txt' })).kind, 'failed');
  fs.mkdirSync(root);
  fs.writeFileSync(join(root, 'a.txt'), 'made anew');
  assert.equal((await callTool(tool, { path: 'a.txt' })).text, 'made anew');
  fs.rmSync(root, { recursive: true });
  fs.symlinkSync(folder.path, root);
  const called = await callTool(tool, { path: 'a.txt' });
  assert.ok(called.kind === 'refused' && called.rule === 'root_moved');
});

test('a root whose name is odd is a root like any other', async () => {
  await using folder = await scratch();
  for (const name of ['with space', 'ünïcode', 'a\\b', "quote'd", 'line\nbreak', '(deleted)']) {
    const root = join(folder.path, name);
    fs.mkdirSync(root);
    fs.writeFileSync(join(root, name), bait);
    assert.equal((await read(root, name)).text, bait);
    assert.equal((await read(root, join(root, name))).text, bait);
  }
});

test('a call whose turn is over reads nothing', async () => {
  await using folder = await scratch();
  fs.writeFileSync(join(folder.path, 'a.txt'), bait);
  const tool = createReadFile({ root: folder.path, bytesMax });
  const called = await callTool(tool, { path: 'a.txt' }, { signal: AbortSignal.abort() });
  assert.deepEqual(called, { kind: 'failed', text: 'The file was not read: time was over.' });
});
