/** `svc mcp list` and `svc mcp pin`, as an operator types them. */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { startHttpMcp } from '../fake/mcp/http-server.ts';
import { fakeServer } from '../fake/mcp/stage.ts';
import { scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { runCommand } from '../support/in-process.ts';

const where = {
  port: 1,
  adminPort: 2,
  modelUrl: 'http://127.0.0.1:9',
  receiverUrl: 'http://127.0.0.1:9',
};
const hookSecret = { WEBHOOK_SECRET: 'a-secret-of-the-test' };

async function folderWith(mode: string, tools = ['mcp.fake.echo'], more: object = {}) {
  const folder = await scratch();
  const note = join(folder.path, 'note');
  const command = [process.execPath, fakeServer, mode, note];
  const mcp = [{ name: 'fake', command, ...more }];
  const config = webhookConfig(where);
  Object.assign(config.brains[0]!, {
    _try: [{ text: 'Hi' }],
    agent: { tools: ['time', ...tools], mcp },
  });
  await writeConfig(folder.path, config);
  const pins = join(folder.path, 'svc.mcp.json');
  const svc = (line: string) =>
    runCommand(line.split(' '), {
      cwd: folder.path,
      env: hookSecret,
    });
  return { folder, note, pins, svc, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test('what is pinned is told, and a change of it is told by its part', async () => {
  await using place = await folderWith('changed');
  const before = await place.svc('mcp list');
  assert.deepEqual([before.code, /mcp\.fake\.echo +not pinned/.test(before.out)], [1, true]);
  assert.match(before.out, /mcp\.fake\.picture +not listed/);
  const asked = await place.svc('mcp pin');
  assert.equal(asked.code, 2, 'without a terminal nobody is asked');
  const pinned = await place.svc('mcp pin --yes');
  assert.equal(pinned.code, 0, pinned.err);
  assert.match(pinned.out, /the server says: Says a text again\./);
  assert.equal((await stat(place.pins)).mode & 0o777, 0o600);
  assert.equal((await place.svc('mcp list')).code, 0);
  await writeFile(`${place.note}.changed`, '');
  const after = await place.svc('mcp list');
  assert.match(after.out, /mcp\.fake\.echo +changed: description/);
  assert.equal(after.code, 1);
  const text = await readFile(place.pins, 'utf8');
  assert.equal((await place.svc('mcp pin --yes')).code, 0);
  assert.notEqual(await readFile(place.pins, 'utf8'), text);
});

test('what tries a brain without its servers wants none of their secrets', async () => {
  await using place = await folderWith('honest', undefined, { env: { TOKEN: 'NOT_SET' } });
  const tried = await place.svc('try');
  assert.doesNotMatch(tried.err, /NOT_SET/);
  const chat = await place.svc('chat');
  assert.doesNotMatch(chat.err, /NOT_SET/);
  assert.match((await place.svc('mcp list')).err, /NOT_SET is not set/);
});

test('svc doctor asks each server, and tells which tool is not as it was pinned', async () => {
  await using place = await folderWith('changed');
  assert.equal((await place.svc('mcp pin --yes')).code, 0);
  const fine = await place.svc('doctor');
  assert.match(fine.out, /✓ MCP server fake: answers; 1 of 1 listed tool as pinned/);
  await writeFile(`${place.note}.changed`, '');
  const changed = await place.svc('doctor');
  assert.match(changed.out, /! mcp\.fake\.echo: is no longer what was pinned \(description\)/);
  await using down = await folderWith('crash_init');
  assert.match((await down.svc('doctor')).out, /! MCP server fake: is down: it ended with 2/);
});

test('of a program that ended its last words are told, without its secrets', async () => {
  const env = { TOKEN: 'WEBHOOK_SECRET' };
  await using place = await folderWith('crash_says', undefined, { env });
  const said = 'it ended with 1; it wrote: TypeError: no account for [secret]';
  for (const command of ['mcp list', 'doctor']) {
    const { out } = await place.svc(command);
    assert.ok(out.includes(said), out);
    assert.ok(!out.includes('\u001B[2J') && !out.includes(hookSecret.WEBHOOK_SECRET), out);
  }
  assert.ok((await place.svc('mcp pin --yes')).err.includes(`${said}[2J.`));
  const { servers } = JSON.parse((await place.svc('mcp list --json')).out) as {
    servers: { reason: string; stderr: string }[];
  };
  assert.deepEqual(
    servers.map(({ reason, stderr }) => [reason, stderr]),
    [['it ended with 1', 'TypeError: no account for [secret][2J']],
  );
});

test('of a server at a url that is down the reason is told by name', async () => {
  await using server = await startHttpMcp('unauthorized');
  await using place = await folderWith('', undefined, { command: undefined, url: server.url });
  const said = 'it wants a token (HTTP 401): name the variable that holds the token in token_env';
  for (const command of ['mcp list', 'doctor']) {
    const { out } = await place.svc(command);
    assert.ok(out.includes(`down: ${said}`), out);
  }
});

test('a server that is down and a tool that is not there are told', async () => {
  await using down = await folderWith('crash_init');
  const told = await down.svc('mcp list --json');
  assert.equal(told.code, 1);
  assert.match(told.out, /"state": "down"/);
  await using place = await folderWith('honest', ['mcp.fake.echo', 'mcp.fake.none']);
  const pinned = await place.svc('mcp pin --yes');
  assert.equal(pinned.code, 1);
  assert.match(pinned.err, /mcp\.fake\.none is not offered/);
  assert.match(pinned.err, /Pinned in .*: mcp\.fake\.echo\./);
});

test('pins that cannot be read are told, and are not written over', async () => {
  await using place = await folderWith('honest');
  await writeFile(place.pins, 'no json');
  assert.match((await place.svc('config check')).out, /svc\.mcp\.json is not JSON/);
  const pinned = await place.svc('mcp pin --yes');
  assert.equal(pinned.code, 1);
  assert.equal(await readFile(place.pins, 'utf8'), 'no json');
});
