import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  explained,
  fakeKeychain,
  fakeLookup,
  type FakeKeychain,
  type FakeLookup,
} from '../../../test/fake/keychain.ts';
import type { Config } from '../../config/config.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { createSecretControl } from './secrets.ts';

const stays = new AbortController().signal;

/** A configuration, as far as it names variables. */
function configOf(token: string, adminToken: string | null): Config {
  return {
    channels: [{ type: 'messenger_a', tokenEnv: token as EnvName }],
    brains: [],
    storage: null,
    admin: adminToken === null ? null : { tokenEnv: adminToken as EnvName },
    completions: null,
  } as unknown as Config;
}

type Parts = { keychain: FakeKeychain; lookup: FakeLookup };

function start(parts: Partial<Parts> = {}) {
  const keychain = parts.keychain ?? fakeKeychain();
  const clock = { ms: 0 };
  const faults: string[] = [];
  const control = createSecretControl({
    config: () => configOf('BOT', 'ADMIN'),
    lookup: parts.lookup ?? fakeLookup({ BOT: 'environment', ADMIN: 'file' }, 1),
    keychain,
    prober: keychain,
    store: 'secret_service',
    explain: explained,
    steady: () => clock.ms as SteadyTime,
    events: { faulted: ({ where, error }) => void faults.push(`${where}: ${String(error)}`) },
  });
  return { control, keychain, clock, faults };
}

const untilCalled = async (keychain: FakeKeychain, count: number): Promise<void> => {
  while (keychain.calls.length < count) await new Promise(setImmediate);
};

test('what the configuration names comes first, then what the keychain alone has', async () => {
  const { control, keychain } = start();
  keychain.values.set('OTHER', { value: 'v', setAt: 5 });
  keychain.values.set('BOT', { value: 'v', setAt: 5 });
  assert.deepEqual((await control.list()).rows, [
    {
      name: 'BOT',
      source: 'environment',
      inKeychain: true,
      usedAt: ['channels[0].token_env'],
      restart: false,
    },
    {
      name: 'ADMIN',
      source: 'file',
      inKeychain: false,
      usedAt: ['admin.token_env'],
      restart: false,
    },
    { name: 'OTHER', source: 'keychain', inKeychain: true, usedAt: [], restart: false },
  ]);
});

test('a value set after it was read needs a restart; one removed is still held', async () => {
  const lookup = fakeLookup({ BOT: 'keychain', ADMIN: 'environment' }, 100);
  const { control, keychain } = start({ lookup });
  const rowOf = async () => (await control.list()).rows[0];
  keychain.values.set('BOT', { value: 'v', setAt: 99 });
  assert.deepEqual([(await rowOf())!.restart, (await rowOf())!.source], [false, 'keychain']);
  keychain.values.set('BOT', { value: 'w', setAt: 101 });
  assert.equal((await rowOf())!.restart, true);
  keychain.values.delete('BOT');
  const removed = (await rowOf())!;
  assert.deepEqual(
    [removed.source, removed.inKeychain, removed.restart],
    ['keychain', false, false],
  );
});

test('what is asked of a name reads no value of the keychain', async () => {
  const other = { MOUNTED: 'file', SET: 'environment', BROKEN: 'unreadable' } as const;
  const lookup = fakeLookup({ BOT: 'keychain' }, 1, other);
  const { control, keychain } = start({ lookup });
  for (const name of ['KEPT', 'MOUNTED', 'BROKEN'])
    keychain.values.set(name, { value: 'v', setAt: 1 });
  const names = ['BOT', 'MOUNTED', 'SET', 'KEPT', 'BROKEN', 'NOWHERE', 'toString'];
  assert.deepEqual(
    (await control.presence(names)).map(({ name, source, inKeychain }) => {
      return [name, source, inKeychain];
    }),
    [
      ['BOT', 'keychain', false],
      ['MOUNTED', 'file', true],
      ['SET', 'environment', false],
      ['KEPT', 'keychain', true],
      ['BROKEN', 'missing', true],
      ['NOWHERE', 'missing', false],
      ['toString', 'missing', false],
    ],
  );
  assert.deepEqual(lookup.asked, ['BOT'], 'it looks for nothing that it does not hold');
  assert.deepEqual(keychain.calls, []);
});

test('the keychain is looked at once for all who ask, and again after five seconds', async () => {
  const { control, keychain, clock } = start();
  const gate = Promise.withResolvers<void>();
  keychain.hold = gate.promise;
  keychain.now = 'no_answer';
  const asked = [control.list(), control.list(), control.list()];
  await untilCalled(keychain, 1);
  gate.resolve();
  for (const { store } of await Promise.all(asked)) {
    assert.deepEqual(store, {
      kind: 'secret_service',
      state: 'no_answer',
      message: 'It is no_answer.',
      remedy: 'Mend no_answer.',
    });
  }
  assert.deepEqual(keychain.calls, ['state']);
  clock.ms = 4_999;
  keychain.now = 'ready';
  assert.equal((await control.list()).store.state, 'no_answer');
  clock.ms = 5_000;
  const { state, message, remedy } = (await control.list()).store;
  assert.deepEqual([state, message, remedy], ['ready', null, null]);
  assert.deepEqual(keychain.calls, ['state', 'state']);
});

test('a name whose value is gone from the keychain is not told to be there', async () => {
  const { control, keychain, clock } = start();
  keychain.values.set('BOT', { value: 'v', setAt: 5 });
  keychain.lost.add('BOT');
  assert.equal((await control.list()).rows[0]!.inKeychain, false);
  assert.deepEqual(keychain.calls, ['state', 'holds']);
  // The secret is set while a probe that found it missing is under way.
  clock.ms = 10_000;
  const gate = Promise.withResolvers<void>();
  keychain.hold = gate.promise;
  const before = control.list();
  await untilCalled(keychain, 3);
  const setting = control.set('BOT', 'new', stays);
  await untilCalled(keychain, 4);
  gate.resolve();
  assert.deepEqual([await setting, (await before).rows.length], [{ kind: 'done' }, 2]);
  assert.equal((await control.list()).rows[0]!.inKeychain, true);
});

test('changes are made in the order in which they were asked for, and few may wait', async () => {
  const { control, keychain } = start();
  const gate = Promise.withResolvers<void>();
  keychain.hold = gate.promise;
  const asked = [
    control.set('A', 'one', stays),
    control.set('A', 'two', stays),
    control.delete('A', stays),
    control.set('A', 'three', stays),
  ];
  assert.deepEqual(await control.set('B', 'x', stays), { kind: 'busy' });
  await untilCalled(keychain, 1);
  assert.deepEqual(keychain.calls, ['set A'], 'the second waits for the first');
  gate.resolve();
  for (const change of await Promise.all(asked)) assert.deepEqual(change, { kind: 'done' });
  assert.deepEqual(keychain.calls, ['set A', 'set A', 'delete A', 'set A']);
  assert.equal(keychain.values.get('A')!.value, 'three');
  assert.deepEqual(await control.set('B', 'x', stays), { kind: 'done' });
});

test('who left before their turn changes nothing', async () => {
  const { control, keychain } = start();
  const gate = Promise.withResolvers<void>();
  keychain.hold = gate.promise;
  const leaving = new AbortController();
  const first = control.set('A', 'one', stays);
  const second = control.set('A', 'two', leaving.signal);
  leaving.abort();
  gate.resolve();
  await Promise.all([first, second]);
  assert.equal(keychain.values.get('A')!.value, 'one');
});

test('the variable that opens the admin API is changed by hand alone', async () => {
  const { control, keychain } = start();
  assert.deepEqual(await control.set('ADMIN', 'x', stays), { kind: 'by_hand' });
  assert.deepEqual(await control.delete('ADMIN', stays), { kind: 'by_hand' });
  assert.deepEqual(keychain.calls, []);
});

test('a keychain that takes nothing says why; one that lacks the name, that', async () => {
  const { control, keychain } = start();
  assert.deepEqual(await control.delete('A', stays), { kind: 'not_found' });
  keychain.now = 'locked';
  const told = { kind: 'unavailable', state: 'locked', ...explained('locked') };
  assert.deepEqual(await control.set('A', 'x', stays), told);
  assert.deepEqual(await control.delete('A', stays), told);
  assert.equal((await control.list()).store.state, 'locked', 'it was looked at anew');
});

test('at most 200 names are kept, and each of those can be replaced', async () => {
  const { control, keychain } = start();
  for (let n = 0; n < 200; n++) keychain.values.set(`N${n}`, { value: 'v', setAt: 1 });
  assert.deepEqual(await control.set('MORE', 'x', stays), { kind: 'full' });
  assert.deepEqual(await control.set('N7', 'x', stays), { kind: 'done' });
  assert.deepEqual(await control.delete('N8', stays), { kind: 'done' });
  assert.deepEqual(await control.set('MORE', 'x', stays), { kind: 'done' });
});

test('what a broken keychain throws is told nowhere: it had the value in hand', async () => {
  const canary = 'a-canary-in-the-hands-of-a-library';
  const broken: FakeKeychain = Object.assign(fakeKeychain(), {
    set: (_name: string, value: string) => Promise.reject(new Error(`cannot keep ${value}`)),
    state: () => Promise.reject(new Error(canary)),
    stored: () => Promise.reject(new Error(canary)),
  });
  const { control, faults } = start({ keychain: broken });
  const told = [await control.list(), await control.presence(['A']), faults];
  assert.equal((await control.list()).store.state, 'unavailable');
  assert.equal((await control.set('A', canary, stays)).kind, 'unavailable');
  assert.ok(!JSON.stringify([told, faults]).includes(canary));
  assert.ok(faults.some((line) => line.startsWith('the list of what the keychain has: ')));
  assert.deepEqual((await control.list()).rows.length, 2, 'the configuration is told all the same');
});
