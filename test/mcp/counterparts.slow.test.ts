/** Servers of others, and the conformance suite of the protocol, without a network. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { steadyNow } from '../../src/lib/clock.ts';
import { Connection } from '../../src/tool/mcp/connection.ts';
import { resultOf } from '../../src/tool/mcp/result-text.ts';
import { scratch } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';

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
