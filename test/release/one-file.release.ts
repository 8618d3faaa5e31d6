/** The one-file program, on a machine with nothing else. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { startReceiver } from '../fake/receiver.ts';
import { keyringTest, openSession } from '../keyring/session.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { root, runProgram } from '../support/run-svc.ts';
import { made } from './made.ts';
import { runInstalled, secrets, serveInstalled, smoke, version, type Installed } from './smoke.ts';

const forLinux = made('one-file', `svc-${version}-linux-x64`);
const forWindows = made('one-file', `svc-${version}-win-x64.exe`);
const forMacOs = made('one-file', `svc-${version}-darwin-arm64`);

suite('the program of one file', { skip: forLinux.skip }, () => {
  const file = forLinux.path;
  const alone: Installed = { command: [file], env: { PATH: '/nowhere' } };

  test('it does all that svc does, where nothing else is', (t) => smoke(t, alone));

  test('what it has kept is read by a thread of its own, and a second start reads it again', () =>
    assertKept(alone, { path: 'svc.db' }));

  test('it keeps all on PostgreSQL as well', { skip: noPostgres }, async () => {
    const env = { ...alone.env, DATABASE_URL: await newDatabase() };
    await assertKept({ ...alone, env }, { url_env: 'DATABASE_URL' });
  });

  keyringTest('the library of the keychain is in it', async () => {
    await using session = await openSession();
    await session.startKeyring('unlocked');
    const env = { ...session.env, PATH: '/nowhere', NODE_OPTIONS: undefined };
    const said = async (args: readonly string[], input: string): Promise<string> => {
      const run = runProgram(file, args, { env, cwd: session.home });
      run.child.stdin?.end(input);
      assert.equal((await run.ended).code, 0, run.err());
      return run.out();
    };
    const set = await said(['secrets', 'set', 'A_SECRET'], 'canary\n');
    assert.match(set, /^A_SECRET is in the keychain/);
    assert.match(await said(['secrets', 'where', 'A_SECRET'], ''), /keychain +has it, and wins/);
  });

  test('a role is started from it, ends, and starts no other', async () => {
    await using folder = await scratch();
    const environment = { HOME: folder.path, PATH: '/nowhere' };
    // Where there is a display, it checks whether the library of the window loads.
    const env = { ...environment, DISPLAY: ':4711', DBUS_SESSION_BUS_ADDRESS: undefined };
    const run = runProgram(file, ['internal', 'window', 'look'], { env, cwd: folder.path });
    run.child.stdin?.end();
    const { code } = await run.ended;
    const isLoaded = code === 0 && /^\d+\.\d+/.test(run.out());
    assert.ok(isLoaded || /missing on this system|could not be loaded/.test(run.out()), run.err());
  });

  test('no option of Node reaches it', async () => {
    await using folder = await scratch();
    const env = { NODE_OPTIONS: '--inspect=127.0.0.1:0', ...alone.env };
    const run = runInstalled({ ...alone, env }, folder.path, ['version']);
    run.child.stdin?.end();
    await run.ended;
    assert.deepEqual([run.out(), run.err()], [`svc ${version}\n`, '']);
  });
});

/** Starts it twice on that storage: the second reads the messages of the first. */
async function assertKept(installed: Installed, storage: object): Promise<void> {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'hello yourself' });
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = { ...webhookConfig(where), storage, admin: { token_env: 'ADMIN_TOKEN' } };
  const file = await writeConfig(folder.path, document);
  const kept = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${secrets.ADMIN_TOKEN}` };
    const answer = await fetch(`http://127.0.0.1:${adminPort}/api/v1/messages`, { headers });
    return ((await answer.json()) as { readonly rows: readonly unknown[] }).rows.length;
  };
  for (const [answered, text] of ['hello', 'and again'].entries()) {
    await using program = await serveInstalled(installed, folder.path, file);
    assert.equal(await kept(), answered);
    const accepted = await post(`http://127.0.0.1:${port}/webhook`, { sender_id: 'ada', text });
    assert.equal(accepted.status, 200);
    await receiver.waitFor(answered + 1);
    assert.equal(await kept(), answered + 1);
    assert.equal(await program.stop(), 0, program.log());
  }
  const names = (await readdir(folder.path)).filter((one) => !one.startsWith('svc.db'));
  assert.deepEqual(names, ['svc.json'], 'it writes nowhere but where its configuration says');
}

/** The mark of a Node that contains a program. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:1';

suite('the programs of one file for other systems', { skip: forWindows.skip }, () => {
  const ownTexts = [
    readFileSync(join(root, 'packaging', 'one-file', 'main.js'), 'utf8'),
    'dist/writer-thread.js',
    'web/dist/live/index.html',
  ];

  test('the one for Windows is a program of Windows with svc in it, and its libraries', () => {
    const bytes = readFileSync(forWindows.path);
    const header = bytes.readUInt32LE(0x3c);
    assert.equal(bytes.toString('latin1', 0, 2), 'MZ');
    assert.equal(bytes.toString('latin1', header, header + 4), 'PE\0\0');
    assert.equal(bytes.readUInt16LE(header + 4), 0x8664, 'x64');
    const texts = [...ownTexts, 'keyring.win32-x64-msvc.node', 'webview.win32-x64-msvc.node'];
    for (const text of [fuse, ...texts]) assert.ok(bytes.includes(text), text);
  });

  test('the one for macOS is a program of macOS with svc in it, and its libraries', () => {
    const bytes = readFileSync(forMacOs.path);
    assert.equal(bytes.readUInt32LE(0), 0xfeedfacf, 'Mach-O of 64 bits');
    assert.equal(bytes.readUInt32LE(4), 0x0100000c, 'arm64');
    const texts = [...ownTexts, 'keyring.darwin-arm64.node', 'webview.darwin-arm64.node'];
    for (const text of [fuse, ...texts]) assert.ok(bytes.includes(text), text);
  });
});
