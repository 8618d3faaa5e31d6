/** `svc secrets`, the boot and the doctor over a real keyring. */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'node:test';
import {
  runCommand,
  startCommand,
  type Outcome,
  type Surroundings,
} from '../support/in-process.ts';
import { freePort, webhookConfig, writeConfig } from '../support/program.ts';
import { runSvc } from '../support/run-svc.ts';
import { openRealTerminal, openTerminal } from '../support/terminal.ts';
import { hasty, keyringTest, openSession, type Session } from './session.ts';

const name = 'WEBHOOK_SECRET';
const value = 'canary-of-the-commands';

/** Commands in a folder with a configuration that names one secret. */
async function openCommands(session: Session, more: Record<string, unknown> = {}) {
  const nowhere = 'http://127.0.0.1:9';
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: nowhere, receiverUrl: nowhere };
  await writeConfig(session.home, { ...webhookConfig(where), ...more });
  const cwd = session.home;
  const svc = (
    words: string,
    options: Surroundings & { readonly input?: string } = {},
  ): Promise<Outcome> => {
    const { env = {}, ...rest } = options;
    return runCommand(words.split(' '), { cwd, env: { ...session.env, ...env }, ...rest });
  };
  return { svc, cwd };
}

suite('svc secrets over gnome-keyring', () => {
  keyringTest('what is set is found by every command, and deleted again', async () => {
    await using session = await openSession();
    await session.startKeyring('unlocked');
    const { svc } = await openCommands(session);
    const missing = await svc('secrets where WEBHOOK_SECRET');
    assert.equal(missing.code, 1);
    assert.match(missing.err, /WEBHOOK_SECRET stands nowhere/);
    const set = await svc('secrets set WEBHOOK_SECRET', { input: `${value}\n` });
    assert.deepEqual([set.code, set.err], [0, '']);
    assert.match(set.out, /^WEBHOOK_SECRET is in the keychain/);
    const list = await svc('secrets list');
    assert.match(list.out, /WEBHOOK_SECRET +keychain +yes +channels\[0\]\.token_env/);
    const { out } = await svc('secrets list --json');
    assert.deepEqual(JSON.parse(out), {
      rows: [
        {
          name,
          source: 'keychain',
          unreadable: false,
          inKeychain: true,
          usedAt: ['channels[0].token_env'],
        },
      ],
      store: { state: 'ready' },
    });
    assert.match((await svc('secrets where WEBHOOK_SECRET')).out, /keychain +has it, and wins/);
    assert.match((await svc('config check --preflight')).out, /WEBHOOK_SECRET: is in the keychain/);
    assert.match((await svc('doctor')).out, /keychain: answers; svc has 1 secret there/);
    const deleted = await svc('secrets delete WEBHOOK_SECRET');
    assert.equal(deleted.code, 0);
    assert.match(deleted.err, /names it at channels\[0\]\.token_env.*nowhere else/);
    const again = await svc('secrets delete WEBHOOK_SECRET');
    assert.deepEqual([again.code, again.err], [1, 'The keychain has no WEBHOOK_SECRET.\n']);
    assert.equal((await svc('config check --preflight')).code, 78);
  });

  keyringTest('the environment wins, and is told to; the keychain is then not asked', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    const { svc } = await openCommands(session);
    const env = { [name]: 'from-the-environment' };
    const set = await svc('secrets set WEBHOOK_SECRET', { input: value, env });
    assert.match(set.err, /! WEBHOOK_SECRET in the environment comes first/);
    assert.match((await svc('secrets where WEBHOOK_SECRET', { env })).out, /1\..*has it, and wins/);
    // A command that asked the keychain would now wait until its limit, and report it.
    keyring.halt();
    const keychainLimits = hasty;
    const check = await svc('config check --preflight', { env, keychainLimits });
    assert.match(check.out, /WEBHOOK_SECRET: is set in the environment/);
    const file = join(session.home, 'token');
    await writeFile(file, 'from-the-file-of-the-test');
    const byFile = await svc('config check --preflight', {
      env: { [`${name}_FILE`]: file },
      keychainLimits,
    });
    assert.match(byFile.out, /WEBHOOK_SECRET: is in the file that WEBHOOK_SECRET_FILE names/);
  });

  keyringTest('svc serves with what the keychain has, and no process shows it', async () => {
    await using session = await openSession();
    await session.startKeyring('unlocked');
    const { svc, cwd } = await openCommands(session);
    await svc('secrets set WEBHOOK_SECRET', { input: value });
    const env = { ...session.env, PATH: process.env['PATH'] };
    const run = runSvc(['serve', '--log-level', 'debug'], { cwd, env });
    try {
      await run.until(/"listening"/, 'err');
      const shown = [run.out(), run.err()];
      for (const pid of (await readdir('/proc')).filter((one) => /^\d+$/.test(one))) {
        for (const what of ['cmdline', 'environ']) {
          shown.push(await readFile(`/proc/${pid}/${what}`, 'latin1').catch(() => ''));
        }
      }
      assert.ok(shown.some((text) => text.includes('svc.js')));
      assert.ok(!shown.some((text) => text.includes(value)));
    } finally {
      run.child.kill('SIGTERM');
    }
    assert.equal((await run.ended).code, 0);
  });

  keyringTest('a locked keyring ends the boot with 78 and says what to do', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    const { svc } = await openCommands(session);
    await svc('secrets set WEBHOOK_SECRET', { input: value });
    await keyring.end();
    await session.startKeyring('locked');
    const serve = await svc('serve');
    assert.equal(serve.code, 78);
    assert.match(serve.err, /WEBHOOK_SECRET is kept in the keychain.*locked/);
    assert.match(serve.err, /Unlock it/);
    const list = await svc('secrets list');
    assert.match(list.out, /WEBHOOK_SECRET +keychain +yes/);
    assert.match((await svc('doctor')).out, /! keychain: is locked/);
  });

  keyringTest('a keyring that hangs ends the boot with 78, within its limit', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    const { svc } = await openCommands(session);
    await svc('secrets set WEBHOOK_SECRET', { input: value });
    keyring.halt();
    const serve = await svc('serve', { keychainLimits: hasty });
    assert.equal(serve.code, 78);
    assert.match(serve.err, /did not answer in time/);
  });

  keyringTest('a stop ends the wait for a keyring that hangs', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    const { svc, cwd } = await openCommands(session);
    await svc('secrets set WEBHOOK_SECRET', { input: value });
    keyring.halt();
    await using run = startCommand(['secrets', 'where', name], { cwd, env: session.env });
    await run.stop();
    assert.match(run.err(), /since svc is to stop/);
  });

  keyringTest('at a terminal the value is asked for, and not shown', async () => {
    await using session = await openSession();
    await session.startKeyring('unlocked');
    const { svc, cwd } = await openCommands(session);
    await using terminal = openRealTerminal(['secrets', 'set', name], { cwd, env: session.env });
    await terminal.sees(/Value of WEBHOOK_SECRET: /);
    terminal.type(`${value}\r`);
    await terminal.sees(/WEBHOOK_SECRET is in the keychain/);
    assert.equal(await terminal.ended, 0);
    assert.ok(!terminal.seen().includes(value), terminal.seen());
    assert.match((await svc('secrets where WEBHOOK_SECRET')).out, /wins/);
    for (const keys of ['\x03', '\x04']) {
      await using given = openTerminal(['secrets', 'set', name], { cwd, env: session.env });
      await given.sees(/Value of WEBHOOK_SECRET: /);
      given.type(keys);
      assert.equal(await given.ended, 1);
      assert.match(given.seen(), /No value was given. Nothing was kept/);
    }
  });

  keyringTest(
    'a change is a row of the audit, and a database in use does not stop it',
    async () => {
      await using session = await openSession();
      await session.startKeyring('unlocked');
      const { svc, cwd } = await openCommands(session, { storage: { path: 'svc.db' } });
      await using first = startCommand(['serve'], {
        cwd,
        env: { ...session.env, [name]: 'for-the-first-start' },
      });
      await first.until(/"listening"/, 'err');
      const busy = await svc('secrets set WEBHOOK_SECRET', { input: value });
      assert.equal(busy.code, 0);
      assert.match(busy.err, /The audit has no row of this/);
      await first.stop();
      await svc('secrets set WEBHOOK_SECRET', { input: value });
      await svc('secrets delete WEBHOOK_SECRET');
      const audit = await svc('audit');
      assert.match(audit.out, /secret_set.*WEBHOOK_SECRET/);
      assert.match(audit.out, /secret_deleted.*WEBHOOK_SECRET/);
      assert.ok(!audit.out.includes(value));
    },
  );
});
