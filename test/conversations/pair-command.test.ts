/** `svc pair`: on a stopped service, and through a running one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pairings } from '../../src/pipeline/pairing/pairing.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { openStorage } from '../messages/messenger-house.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const env = { PAIR_ADMIN: 'an-admin-token-of-the-pairs' };

async function stage() {
  const folder = await scratch();
  const [port, adminPort] = [await freePort(), await freePort()];
  const url = 'http://127.0.0.1:9';
  const config = webhookConfig({ port, adminPort, modelUrl: url, receiverUrl: url });
  const more = { storage: { path: 'svc.db' }, admin: { token_env: 'PAIR_ADMIN' } };
  const file = await writeConfig(folder.path, { ...config, ...more });
  const svc = async (...args: readonly string[]) => {
    return runCommand(['pair', ...args], { cwd: folder.path, env });
  };
  /** Gives strangers codes, as the gate does, while svc is stopped. */
  const pairingRequest = async (...senders: readonly string[]): Promise<readonly string[]> => {
    const clock = { now: Date.now() };
    await using ledger = await openStorage(folder.path, clock);
    const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
    const pairings = new Pairings(ledger, () => clock.now, random);
    await pairings.load('messenger_a');
    const codes: string[] = [];
    for (const id of senders) {
      const request = pairings.pairingRequest('messenger_a', { id, name: `N${id}` });
      assert.ok(request.kind === 'code');
      await ledger.accept([], request.move);
      codes.push(request.code);
    }
    return codes;
  };
  return {
    file,
    port,
    svc,
    pairingRequest,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('a code is taken, listed and taken back while svc is stopped', async () => {
  await using on = await stage();
  const [code] = await on.pairingRequest('41', '42');
  const paired = await on.svc(code!.toLowerCase());
  const out = 'N41 (41) may talk on messenger_a from now on.\n';
  assert.deepEqual(paired, { code: 0, out, err: '' });
  const again = await on.svc(code!);
  assert.equal(again.code, 1);
  assert.match(again.err, /^No code like this waits: /);
  const listed = await on.svc('--list');
  assert.match(listed.out, /messenger_a +41 +N41 +let in \d{4}-.*\n.*42 +N42 +has a code until/);
  assert.equal((await on.svc('--remove', '41')).out, '41 is a stranger on messenger_a again.\n');
  assert.equal((await on.svc('--remove', '41')).code, 1);
  assert.doesNotMatch((await on.svc('--list')).out, /N41/);
});

test('the same through the running service, which keeps it', async () => {
  await using on = await stage();
  const [code] = await on.pairingRequest('41', '42');
  {
    await using program = await serveHere(on.file, on.port, env);
    assert.equal((await on.svc(code!)).out, 'N41 (41) may talk on messenger_a from now on.\n');
    assert.equal((await on.svc('WRONGONE')).code, 1);
    const elsewhere = await on.svc('--remove', '42', '--channel', 'shop');
    assert.match(elsewhere.err, /^42 was not let in by a code, and asks for nothing on shop; /);
    const removed = await on.svc('--remove', '42', '--channel', 'telegram');
    assert.equal(removed.out, '42 is a stranger on messenger_a again.\n');
    assert.equal(await program.stop(), 0);
  }
  assert.match((await on.svc('--list')).out, /^channel.*\nmessenger_a +41 +N41 +let in .*\n$/);
});

test('the list is told while svc runs, without its admin token', async () => {
  await using on = await stage();
  await on.pairingRequest('41');
  await using _program = await serveHere(on.file, on.port);
  const { code, out, err } = await runCommand(['pair', '--list', '--config', on.file]);
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /messenger_a +41 +N41 +has a code until/);
});

test('svc pair wants one thing at a time', async () => {
  for (const args of [[], ['ABCDEFGH', '--list'], ['--list', '--remove', '1'], ['A', 'B']]) {
    const { code, err } = await runCommand(['pair', ...args]);
    assert.equal(code, 2, err);
  }
});
