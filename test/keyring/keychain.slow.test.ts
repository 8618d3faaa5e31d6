/** The keychain of svc over a real keyring: stored values, reports, and foreign entries. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'node:test';
import { openKeychain } from '../../src/app/keychain.ts';
import type { KeychainSurroundings } from '../../src/secrets/keychain/os-keychain.ts';
import type { Keychain } from '../../src/secrets/secrets.ts';
import { childrenOf } from '../support/run-svc.ts';
import { hasty, keyringTest, openSession, patient, type Session } from './session.ts';

const name = 'KEPT_TOKEN';
const value = 'canary-of-the-keyring';

function keychainOf(session: Session, more: Partial<KeychainSurroundings> = {}): Keychain {
  return openKeychain({ env: session.env, atTerminal: false, limits: patient, ...more });
}

async function stateOf(answer: Promise<{ kind: string }>): Promise<string> {
  const fault = (await answer) as { kind: string; state?: string };
  assert.equal(fault.kind, 'fault', JSON.stringify(fault));
  return fault.state!;
}

/** Helpers of this process that still run. */
function helpersLeft(): readonly string[] {
  return childrenOf(process.pid)
    .map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
    .filter((line) => line.includes('keychain'));
}

suite('the keychain over gnome-keyring', () => {
  keyringTest(
    'what was set is found by a process that starts later, until it is deleted',
    async () => {
      await using session = await openSession();
      await session.startKeyring('unlocked');
      assert.deepEqual(await keychainOf(session).set(name, value), { kind: 'done' });
      const later = keychainOf(session);
      assert.equal(await later.state(), 'ready');
      assert.deepEqual(await later.read([name]), {
        kind: 'read',
        values: new Map([[name, value]]),
      });
      assert.deepEqual(await later.set(name, 'another'), { kind: 'done' });
      assert.deepEqual(await later.holds([name]), { kind: 'held', names: new Set([name]) });
      const replaced = { kind: 'read', values: new Map([[name, 'another']]) };
      assert.deepEqual(await later.read([name, 'OTHER']), replaced);
      assert.deepEqual(await later.delete(name), { kind: 'done' });
      assert.deepEqual(await later.delete(name), { kind: 'absent' });
      assert.deepEqual(await later.stored(), { kind: 'stored', secrets: [] });
      assert.deepEqual(await later.read([name]), { kind: 'read', values: new Map() });
    },
  );

  keyringTest('what was kept is there after the keyring was started again', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    await keychainOf(session).set(name, value);
    await keyring.end();
    await session.startKeyring('unlocked');
    const read = await keychainOf(session).read([name]);
    assert.deepEqual(read, { kind: 'read', values: new Map([[name, value]]) });
  });

  keyringTest(
    'the longest value, and all sorts of characters, come back as they went',
    async () => {
      await using session = await openSession();
      await session.startKeyring('unlocked');
      const keychain = keychainOf(session);
      for (const one of ['x'.repeat(1_280), ' a\t"\\é漢😀 ', '€'.repeat(1_280)]) {
        assert.deepEqual(await keychain.set(name, one), { kind: 'done' });
        assert.deepEqual(await keychain.read([name]), {
          kind: 'read',
          values: new Map([[name, one]]),
        });
      }
    },
  );

  keyringTest('a locked keyring tells what it holds, and asks nobody where nobody is', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    await keychainOf(session).set(name, value);
    await keyring.end();
    await session.startKeyring('locked');
    const prompts = await session.refusePrompts();
    const keychain = keychainOf(session);
    assert.equal(await keychain.state(), 'locked');
    assert.deepEqual(await keychain.holds([name]), { kind: 'held', names: new Set([name]) });
    assert.equal(await stateOf(keychain.read([name])), 'locked');
    assert.equal(await stateOf(keychain.set('SECOND', value)), 'locked');
    assert.equal(await stateOf(keychain.delete(name)), 'locked');
    assert.equal(prompts(), 0);
    const stored = await keychain.stored();
    const names = stored.kind === 'stored' && stored.secrets.map((one) => one.name);
    assert.deepEqual(names, [name], 'the index is as it was');
  });

  keyringTest('with a person there, a prompt is opened once; a refused one is locked', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    const before = keychainOf(session);
    await before.set(name, value);
    await before.set('SECOND', value);
    await keyring.end();
    await session.startKeyring('locked');
    const prompts = await session.refusePrompts();
    let told = 0;
    const keychain = keychainOf(session, { atTerminal: true, prompting: () => told++ });
    assert.equal(await stateOf(keychain.read([name, 'SECOND'])), 'locked');
    assert.deepEqual([told, prompts()], [1, 1]);
  });

  keyringTest('a keyring that hangs is told within the limit, and its helper is gone', async () => {
    await using session = await openSession();
    const keyring = await session.startKeyring('unlocked');
    await keychainOf(session).set(name, value);
    keyring.halt();
    const keychain = keychainOf(session, { limits: hasty });
    assert.equal(await keychain.state(), 'no_answer');
    assert.equal(await stateOf(keychain.read([name])), 'no_answer');
    assert.equal(await stateOf(keychain.holds([name])), 'no_answer');
    const stop = new AbortController();
    const waiting = keychainOf(session).read([name], stop.signal);
    stop.abort();
    assert.match(JSON.stringify(await waiting), /since svc is to stop/);
    assert.deepEqual(helpersLeft(), []);
    keyring.goOn();
    assert.equal((await keychainOf(session).read([name])).kind, 'read');
  });

  keyringTest('without a keyring, and without a bus, that is told', async () => {
    await using session = await openSession();
    const keychain = keychainOf(session);
    assert.equal(await keychain.state(), 'no_provider');
    assert.equal(await stateOf(keychain.set(name, value)), 'no_provider');
    const { HOME, PATH } = session.env as Record<string, string>;
    const nowhere = { HOME, PATH, DBUS_SESSION_BUS_ADDRESS: `unix:path=${HOME}/nothing` };
    for (const env of [{ HOME, PATH }, nowhere]) {
      const lonely = keychainOf(session, { env });
      assert.equal(await lonely.state(), 'no_bus');
      assert.equal(await stateOf(lonely.set(name, value)), 'no_bus');
    }
    await assert.rejects(stat(join(session.home, '.config')), 'nothing was written');
  });

  keyringTest('a value is in the keyring, and in no other file', async () => {
    await using session = await openSession();
    await session.startKeyring('unlocked');
    await keychainOf(session).set(name, value);
    await keychainOf(session).read([name]);
    const files = await readdir(session.home, { recursive: true, withFileTypes: true });
    const seen = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    assert.ok(
      seen.some((file) => file.endsWith('secrets.json')),
      seen.join(),
    );
    for (const file of seen) {
      assert.ok(!(await readFile(file)).includes(value), file);
    }
    const facts = await stat(seen.find((file) => file.endsWith('secrets.json'))!);
    assert.equal(facts.mode & 0o777, 0o600);
    assert.equal((await stat(join(session.home, '.config', 'svc'))).mode & 0o777, 0o700);
  });
});
