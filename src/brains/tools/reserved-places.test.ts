import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { createListeners } from '../../lib/listener.ts';
import { createHostCage, OwnPlaces } from './caged-request.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  localhost: ['::1', '127.0.0.1'],
  'here.example': ['127.0.0.1'],
  'model.example': ['10.0.0.5', 'fd00::5'],
  'vendor.example': ['93.184.216.34'],
};

const resolve = async (name: string): Promise<readonly string[]> => {
  const found = names[name];
  if (found === undefined) throw new Error('ENOENT');
  return found;
};

type Row = readonly [allowed: string, url: string, expected: 'admitted' | 'address_reserved'];

async function check(reserved: OwnPlaces, rows: readonly Row[]): Promise<void> {
  for (const [allowed, url, expected] of rows) {
    const cage = createHostCage(allowed.split(' '), { resolve, reserved });
    const admission = await cage.admit(url, null, 'public');
    const verdict = admission.kind === 'refused' ? admission.rule : admission.kind;
    assert.equal(verdict, expected, `${allowed} ← ${url}`);
  }
}

const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

const spellings = [
  '127.0.0.1',
  '0.0.0.0',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  'localhost',
  ...(ownAddress === undefined ? [] : [ownAddress]),
];

for (const host of ['', '0.0.0.0']) {
  test(`a listener on "${host}" is reserved by each name of this machine`, async () => {
    const listeners = createListeners();
    const held = await listeners.take({ host, port: 0 });
    assert.ok(held.kind === 'held');
    const { port } = held;
    const own = new OwnPlaces(listeners, resolve);
    for (const name of spellings) {
      await check(own, [
        [name, `http://${name}:${port}/`, 'address_reserved'],
        [`${name} ${name}:${port + 1}`, `http://${name}:${port}/`, 'address_reserved'],
        [`${name} ${name}:${port}`, `http://${name}:${port}/`, 'admitted'],
        [name, `http://${name}:${port === 1 ? 2 : port - 1}/`, 'admitted'],
      ]);
    }
    await held.release(0);
    await check(own, [['127.0.0.1', `http://127.0.0.1:${port}/`, 'admitted']]);
  });
}

test('a listener on one address leaves that port of the others', async () => {
  const listeners = createListeners();
  const held = await listeners.take({ host: '127.0.0.1', port: 0 });
  assert.ok(held.kind === 'held');
  const { port } = held;
  await check(new OwnPlaces(listeners, resolve), [
    ['127.0.0.1', `http://127.1:${port}/`, 'address_reserved'],
    ['::ffff:127.0.0.1', `http://[::ffff:7f00:1]:${port}/`, 'address_reserved'],
    ['0.0.0.0', `http://0:${port}/`, 'address_reserved'],
    ['here.example 127.0.0.1', `http://here.example:${port}/`, 'address_reserved'],
    ['127.0.0.2', `http://127.0.0.2:${port}/`, 'admitted'],
    ['10.0.0.5', `http://10.0.0.5:${port}/`, 'admitted'],
  ]);
  await held.release(0);
});

test('a name that leads to a reserved address needs both entries with the port', async () => {
  const own = new OwnPlaces({ places: [{ address: '127.0.0.1', port: 2112 }] }, resolve);
  const url = 'http://here.example:2112/';
  await check(own, [
    ['here.example:2112 127.0.0.1', url, 'address_reserved'],
    ['here.example 127.0.0.1:2112', url, 'address_reserved'],
    ['here.example:2112 127.0.0.1:2112', url, 'admitted'],
    ['here.example:2112 localhost:2112', url, 'admitted'],
  ]);
});

test("a model's server is reserved at its own port, by its name and by its address", async () => {
  const nowhere = { places: [] };
  const models = ['http://127.0.0.1:11434', 'http://Model.Example:8000/v1', 'https://[fd00::7]/v1'];
  await check(new OwnPlaces(nowhere, resolve).withServers(models), [
    ['127.0.0.1', 'http://127.0.0.1:11434/api/pull', 'address_reserved'],
    ['[::1]', 'http://[::1]:11434/api/pull', 'address_reserved'],
    ['127.0.0.1', 'http://127.0.0.1:11435/', 'admitted'],
    ['127.0.0.1:11434', 'http://127.0.0.1:11434/', 'admitted'],
    ['model.example 10.0.0.5 fd00::5', 'http://model.example:8000/', 'address_reserved'],
    ['10.0.0.5', 'http://10.0.0.5:8000/', 'address_reserved'],
    ['fd00::5', 'http://[fd00::5]:8000/', 'address_reserved'],
    ['10.0.0.6', 'http://10.0.0.6:8000/', 'admitted'],
    ['fd00::7', 'https://[fd00:0::7]/', 'address_reserved'],
    ['fd00::7', 'http://[fd00::7]/', 'admitted'],
  ]);
});

test('of a public vendor the name is reserved: others share its addresses', async () => {
  const models = ['https://vendor.example/v1', 'https://gone.example/v1'];
  await check(new OwnPlaces({ places: [] }, resolve).withServers(models), [
    ['vendor.example', 'https://vendor.example/v1/files', 'address_reserved'],
    ['vendor.example:443', 'https://vendor.example/v1/files', 'admitted'],
    ['93.184.216.34', 'https://93.184.216.34/', 'admitted'],
    ['10.0.0.5', 'https://10.0.0.5/', 'address_reserved'],
    ['10.0.0.5', 'http://10.0.0.5/', 'admitted'],
  ]);
});

test('every host of the database is reserved, also at a public address', async () => {
  const own = new OwnPlaces({ places: [] }, resolve);
  const ofPlan = own.withServers([]);
  own.addDatabase([
    { host: 'localhost', port: 5432 },
    { host: 'Model.Example', port: 6432 },
    { host: 'vendor.example', port: 5432 },
    { host: 'gone.example', port: 7432 },
    { host: '/var/run/postgresql', port: 8432 },
  ]);
  await check(ofPlan, [
    ['127.0.0.1', 'http://127.0.0.1:5432/', 'address_reserved'],
    ['[::1]', 'http://[::1]:5432/', 'address_reserved'],
    ['here.example 127.0.0.1', 'http://here.example:5432/', 'address_reserved'],
    ['127.0.0.1:5432', 'http://127.0.0.1:5432/', 'admitted'],
    ['127.0.0.1', 'http://127.0.0.1:5433/', 'admitted'],
    ['127.0.0.1', 'http://127.0.0.1:8432/', 'admitted'],
    ['10.0.0.5', 'http://10.0.0.5:6432/', 'address_reserved'],
    ['vendor.example', 'http://vendor.example:5432/', 'address_reserved'],
    ['93.184.216.34', 'http://93.184.216.34:5432/', 'address_reserved'],
    ['93.184.216.34', 'http://93.184.216.34:7432/', 'admitted'],
    ['10.0.0.9', 'http://10.0.0.9:7432/', 'address_reserved'],
  ]);
});
