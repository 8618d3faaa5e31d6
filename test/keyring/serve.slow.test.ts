/** The service over a real keyring: it reads and stores secrets there, or says why it cannot. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite } from 'node:test';
import { openKeychain } from '../../src/app/keychain.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { childrenOf } from '../support/run-svc.ts';
import { hasty, keyringTest, openSession, patient, type Session } from './session.ts';
import { until } from '../support/waiting.ts';

async function stage(session: Session) {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await scratch());
  const receiver = parts.use(await startReceiver());
  const model = parts.use(await startFakeOllama({ answer: 'hello' }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const admin = { token_env: 'ADMIN_TOKEN' };
  const file = await writeConfig(folder.path, { ...webhookConfig(where), admin });
  const keychain = openKeychain({ env: session.env, atTerminal: false, limits: patient });
  const own = parts.move();
  return {
    file,
    receiver,
    url: `http://127.0.0.1:${port}/webhook`,
    store: async (name: string, value: string): Promise<void> => {
      assert.deepEqual(await keychain.set(name, value), { kind: 'done' });
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

function isAsked(): boolean {
  return childrenOf(process.pid).some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('keychain');
    } catch {
      return false;
    }
  });
}

suite('the service over gnome-keyring', () => {
  keyringTest(
    'a secret of the keychain is found at the start, and a variable comes before it',
    async () => {
      await using session = await openSession();
      await session.startKeyring('unlocked');
      await using on = await stage(session);
      await on.store('WEBHOOK_SECRET', secret);
      await on.store('ADMIN_TOKEN', 'not-the-token-of-the-service');
      const env = { ...session.env, ADMIN_TOKEN: 'the-token-of-the-service' };
      await using service = startServe(on.file, env);
      await service.saw('"listening"');
      assert.equal((await post(on.url, { sender_id: 'ada', text: 'hello' })).status, 200);
      await on.receiver.waitFor(1);
      const { out } = await runCommand(['doctor', '--config', on.file], { env });
      assert.match(out, /✓ WEBHOOK_SECRET: is in the keychain\n✓ ADMIN_TOKEN: is set in the env/);
      assert.match(out, /✓ keychain: answers; svc has 2 secrets there\n/);
      assert.equal(await service.stop(), 0);
      assert.ok(!`${service.log()}${out}`.includes(secret));
    },
  );

  keyringTest(
    'a locked keychain ends the start where a secret is there alone, and says so',
    async () => {
      await using session = await openSession();
      const keyring = await session.startKeyring('unlocked');
      await using on = await stage(session);
      await on.store('WEBHOOK_SECRET', secret);
      await on.store('ADMIN_TOKEN', 'the-token-of-the-service');
      await keyring.end();
      await session.startKeyring('locked');
      const { env } = session;
      const refused = await runCommand(['serve', '--config', on.file], { env });
      assert.equal(refused.code, 78);
      assert.match(
        refused.err,
        /^✗ WEBHOOK_SECRET is kept in the keychain, which is locked.*token_env\.\n {2}Unlock/,
      );
      assert.doesNotMatch(refused.err, /ADMIN_TOKEN/);
      const doctor = await runCommand(['doctor', '--config', on.file], { env });
      assert.equal(doctor.code, 78);
      assert.match(doctor.out, /\n! keychain: is locked.*\n {2}Unlock it/);
      await using service = startServe(on.file, { ...env, WEBHOOK_SECRET: secret });
      await service.saw('"listening"');
      assert.match(
        service.log(),
        /"admin_token_unset".*ADMIN_TOKEN is kept in the keychain, which is locked.*read-only/,
      );
      assert.equal(await service.stop(), 0);
    },
  );

  keyringTest('a keychain that does not answer ends the start within its limit', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    await using on = await stage(session);
    await on.store('WEBHOOK_SECRET', secret);
    keyring.halt();
    const around = { env: session.env, keychainLimits: hasty };
    const { code, err } = await runCommand(['serve', '--config', on.file], around);
    assert.equal(code, 78);
    assert.match(err, /^✗ WEBHOOK_SECRET is kept in the keychain, which did not answer in time/);
    await using stopping = startServe(on.file, session.env);
    await until('the keychain is asked', isAsked);
    assert.equal(await stopping.stop(), 0, 'nothing was wrong');
    assert.equal(stopping.log(), '');
    keyring.goOn();
  });
});
