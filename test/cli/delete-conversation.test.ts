/** Deleting a conversation at a terminal: it asks, and needs a whole yes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminToken, startFakeAdmin, type FakeAdmin } from '../fake/admin-api.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { turn } from '../support/stories.ts';
import { openRealTerminal, openTerminal } from '../support/terminal.ts';

/** Answers the question with these keys. @returns the exit code and all output */
async function answering(admin: FakeAdmin, keys: string, open = openTerminal) {
  await using folder = await scratch();
  const nowhere = 'http://127.0.0.1:9';
  const [port, adminPort] = [await freePort(), admin.port];
  const at = { port, adminPort, modelUrl: nowhere, receiverUrl: nowhere };
  const document = { ...webhookConfig(at), admin: { token_env: 'TEST_ADMIN' } };
  const file = await writeConfig(folder.path, document);
  const words = ['conversations', 'delete', 'webhook', 'c1', '--config', file];
  await using terminal = open(words, { env: { TEST_ADMIN: adminToken } });
  await terminal.sees(/Type yes: /);
  terminal.type(keys);
  return { code: await terminal.ended, seen: terminal.seen() };
}

test('a yes deletes; anything else, Ctrl-C and the end of the input do not', async () => {
  await using admin = await startFakeAdmin();
  admin.rows.turns.push(turn(1), turn(2));
  for (const keys of ['no\r', 'y\r', '\r', '\x03', '\x04']) {
    const { code, seen } = await answering(admin, keys);
    assert.match(seen, /Delete the conversation c1 on webhook for good\? Type yes: /);
    assert.match(seen, /Nothing was deleted\./, JSON.stringify(keys));
    assert.equal(code, 1, JSON.stringify(keys));
  }
  assert.deepEqual(admin.asked, []);
  const { code, seen } = await answering(admin, 'yes\r', openRealTerminal);
  assert.equal(code, 0);
  assert.match(seen, /2 messages, replies and turns deleted/);
});
