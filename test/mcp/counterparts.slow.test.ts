/** Third-party servers, and the conformance suite of the protocol, without a network. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { steadyNow } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { Connection } from '../../src/brains/tools/mcp/connection.ts';
import { resultOf } from '../../src/brains/tools/mcp/result-text.ts';
import { isSessionOver } from '../../src/brains/tools/mcp/url-fault.ts';
import { freePort, scratch } from '../support/program.ts';
import { patienceMs, until } from '../support/waiting.ts';

const root = join(import.meta.dirname, '../..');
const packages = join(root, 'node_modules/@modelcontextprotocol');
const { signal } = new AbortController();

async function connected(args: readonly string[]) {
  const connection = new Connection({
    reach: { kind: 'command', program: process.execPath, args, env: {} },
    version: '0',
    steady: steadyNow,
    initMs: patienceMs,
    toolsChanged: () => {},
  });
  await connection.open(signal);
  return {
    names: async () => (await connection.tools(signal)).map(({ name }) => name),
    async call(name: string, given: Record<string, unknown>) {
      const result = await connection.call(name, given, { signal, timeoutMs: patienceMs });
      return resultOf(result, (text) => text);
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

test('the server that has everything gives its tools, and no more is asked of it', async () => {
  await using server = await connected([
    join(packages, 'server-everything/dist/index.js'),
    'stdio',
  ]);
  const names = await server.names();
  assert.ok(names.includes('echo') && names.length > 5, names.join(' '));
  const told = await server.call('echo', { message: 'hello' });
  assert.deepEqual(told, { kind: 'done', text: 'Echo: hello', cut: false });
  const image = await server.call('get-tiny-image', {});
  assert.match(image.text, /\[image, \d+ (?:bytes|kB)\]/);
  const weather = await server.call('get-structured-content', { location: 'New York' });
  assert.equal(weather.text.split('temperature').length, 2, 'it is told once');
  const wrong = await server.call('echo', {});
  assert.equal(wrong.kind, 'failed');
});

test('over HTTP it is used the same, and says when it has forgotten the session', async () => {
  const port = await freePort();
  const program = join(packages, 'server-everything/dist/index.js');
  const started = async () => {
    const env = { PATH: process.env['PATH'], PORT: `${port}` };
    const child = spawn(process.execPath, [program, 'streamableHttp'], { env, stdio: 'ignore' });
    await until('it listens', async () => {
      return fetch(`http://127.0.0.1:${port}/mcp`).then(
        () => true,
        () => false,
      );
    });
    return child;
  };
  const ended = async (child: ChildProcess): Promise<void> => {
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  let child = await started();
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs });
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const own = { url, token: null, nearOnly: true, timeoutMs: patienceMs, http, version: '0' };
  const connection = new Connection({
    reach: { kind: 'url', ...own, steady: steadyNow },
    version: '0',
    steady: steadyNow,
    initMs: patienceMs,
    toolsChanged: () => {},
  });
  const call = async (name: string, given: Record<string, unknown>): Promise<string> => {
    const result = await connection.call(name, given, { signal, timeoutMs: patienceMs });
    return resultOf(result, (text) => text).text;
  };
  try {
    await connection.open(signal);
    assert.ok((await connection.tools(signal)).some(({ name }) => name === 'echo'));
    assert.equal(await call('echo', { message: 'hello' }), 'Echo: hello');
    assert.match(await call('get-structured-content', { location: 'New York' }), /temperature/);
    await ended(child);
    child = await started();
    await assert.rejects(call('echo', { message: 'again' }), isSessionOver);
  } finally {
    await connection.close();
    await http.close();
    await ended(child);
  }
});

test('the server of files reads its folder, and no other', async () => {
  await using folder = await scratch();
  await writeFile(join(folder.path, 'note.txt'), 'what stands there');
  const program = join(packages, 'server-filesystem/dist/index.js');
  await using server = await connected([program, folder.path]);
  assert.ok((await server.names()).includes('read_text_file'));
  const read = await server.call('read_text_file', { path: join(folder.path, 'note.txt') });
  assert.deepEqual(read, { kind: 'done', text: 'what stands there', cut: false });
  const other = await server.call('read_text_file', { path: '/etc/passwd' });
  assert.equal(other.kind, 'failed');
});

for (const scenario of ['initialize', 'tools_call']) {
  test(`the conformance suite finds nothing wrong: ${scenario}`, async () => {
    await using folder = await scratch();
    const suite = join(packages, 'conformance/dist/index.js');
    const client = join(root, 'test/fake/mcp/conformance-client.ts');
    const command = `${process.execPath} ${process.execArgv.join(' ')} ${client}`;
    const args = [suite, 'client', '--command', command, '--scenario', scenario];
    const ran = await promisify(execFile)(process.execPath, args, { cwd: folder.path });
    assert.match(ran.stdout + ran.stderr, /0 failed, 0 warnings/);
  });
}
