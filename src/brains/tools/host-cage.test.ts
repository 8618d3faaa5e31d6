/**
 * One table for the cage's decisions. http-fetch.test.ts and webhook-call.test.ts show that the
 * tools use the judged address, and connect to nothing else.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noReserved } from '../../../test/fake/reserved.ts';
import { createHostCage, type Admission } from './caged-request.ts';

const names: Readonly<Record<string, readonly string[]>> = {
  'public.example': ['93.184.216.34', '2606:4700::1111'],
  'xn--bcher-kva.example': ['93.184.216.34'],
  'here.example': ['127.0.0.1'],
  'here6.example': ['::1'],
  'intranet.example': ['10.0.0.5'],
  'mixed.example': ['93.184.216.34', '10.0.0.5'],
  'mixed6.example': ['2606:4700::1111', '::7f00:1'],
  'metadata.example': ['169.254.169.254'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nat64.example': ['64:ff9b::a00:5'],
  'odd.example': ['fe80::1%eth0'],
  'nowhere.example': [],
  localhost: ['::1', '127.0.0.1'],
};

const resolve = (name: string): Promise<readonly string[]> =>
  Object.hasOwn(names, name) ? Promise.resolve(names[name]!) : Promise.reject(new Error('ENOENT'));

const deps = { resolve, reserved: noReserved };

type Row = readonly [allowed: string, address: string, expected: string];

function outcomeOf(admission: Admission): string {
  if (admission.kind === 'admitted') return admission.addresses.join(' ');
  return admission.kind === 'refused' ? admission.rule : admission.kind;
}

async function check(sensitivity: 'public' | 'private', rows: readonly Row[]): Promise<void> {
  for (const [allowed, address, expected] of rows) {
    const cage = createHostCage(allowed.split(' '), deps);
    const admission = await cage.admit(address, null, sensitivity);
    assert.equal(outcomeOf(admission), expected, `${allowed} ← ${JSON.stringify(address)}`);
  }
}

const both = '93.184.216.34 2606:4700::1111';

test('a listed host is admitted, on every port unless one is listed', () =>
  check('public', [
    ['public.example', 'http://public.example/', both],
    ['public.example', 'https://public.example:8443/x?y#z', both],
    ['public.example', 'HTTPS://PUBLIC.EXAMPLE', both],
    ['public.example', 'http://public.example./', both],
    ['public.example.', 'http://public.example/', both],
    ['Public.Example', 'http://public.example/', both],
    ['public.example:443', 'https://public.example/', both],
    ['public.example:443', 'http://public.example:443/', both],
    ['public.example:443', 'http://public.example/', 'host_not_listed'],
    ['public.example:8443', 'https://public.example/', 'host_not_listed'],
    ['bücher.example', 'http://BÜCHER.example/', '93.184.216.34'],
    ['bücher.example', 'http://xn--bcher-kva.example/', '93.184.216.34'],
    ['public.example', 'http://ｐublic.example/', both],
    ['93.184.216.34', 'http://93.184.216.34/', '93.184.216.34'],
    ['2606:4700::1111', 'http://[2606:4700:0:0::1111]/', '2606:4700::1111'],
    ['[2606:4700::1111]:81', 'http://[2606:4700::1111]:81/', '2606:4700::1111'],
    ['[2606:4700::1111]:81', 'http://[2606:4700::1111]/', 'host_not_listed'],
  ]));

test('another host is not, however near its name', () =>
  check('public', [
    ['public.example', 'http://sub.public.example/', 'host_not_listed'],
    ['public.example', 'http://example/', 'host_not_listed'],
    ['public.example', 'http://public.example.here.example/', 'host_not_listed'],
    ['public.example', 'http://notpublic.example/', 'host_not_listed'],
    ['public.example', 'http://public.example../', 'host_not_listed'],
    ['public.example', 'http://рublic.example/', 'host_not_listed'],
    ['public.example', 'http://here.example\\@public.example/', 'host_not_listed'],
    ['public.example', 'http://here.example#@public.example/', 'host_not_listed'],
    ['public.example', 'http://here.example?@public.example/', 'host_not_listed'],
    ['public.example', 'http:here.example/', 'host_not_listed'],
    ['public.example', 'http://93.184.216.34/', 'host_not_listed'],
    ['*', 'http://public.example/', 'host_not_listed'],
    ['*.example', 'http://public.example/', 'host_not_listed'],
    ['http://public.example', 'http://public.example/', 'host_not_listed'],
    ['public.example/path', 'http://public.example/path', 'host_not_listed'],
    ['user@public.example', 'http://public.example/', 'host_not_listed'],
  ]));

test('what is no plain web address is refused', () =>
  check('public', [
    ['public.example', '', 'bad_url'],
    ['public.example', 'public.example', 'bad_url'],
    ['public.example', '//public.example/', 'bad_url'],
    ['public.example', 'http://', 'bad_url'],
    ['public.example', 'http://public.example:99999/', 'bad_url'],
    ['public.example', 'http://public.example/\r\nX-Evil: 1', 'bad_url'],
    ['public.example', 'http://public.exa\tmple/', 'bad_url'],
    ['public.example', 'http://public.example/\0', 'bad_url'],
    ['public.example', 'http://public%00.example/', 'bad_url'],
    ['public.example', `http://public.example/${'x'.repeat(5_000)}`, 'bad_url'],
    ['public.example', 'http://[fe80::1%25eth0]/', 'bad_url'],
    ['public.example', 'ftp://public.example/', 'scheme'],
    ['public.example', 'file:///etc/passwd', 'scheme'],
    ['public.example', 'data:text/plain,hello', 'scheme'],
    ['public.example', 'javascript:alert(1)', 'scheme'],
    ['public.example', 'gopher://public.example/', 'scheme'],
    ['public.example', 'ws://public.example/', 'scheme'],
    ['public.example', 'unix:/run/docker.sock', 'scheme'],
    ['public.example', 'http://user@public.example/', 'credentials_in_url'],
    ['public.example', 'http://user:word@public.example/', 'credentials_in_url'],
    ['public.example', 'http://public.example@here.example/', 'credentials_in_url'],
    ['public.example', 'http://here.example%2f@public.example/', 'credentials_in_url'],
  ]));

test('every spelling of this machine is the address that it is', async () => {
  const spellings =
    '127.0.0.1 127.1 127.0.1 0x7f.1 0x7F000001 2130706433 017700000001 0177.0.0.1 127.0.0.1. ' +
    '①②⑦.0.0.1 127.0.0.0x1 %31%32%37.0.0.1';
  for (const spelling of spellings.split(' ')) {
    const address = `http://${spelling}/`;
    await check('public', [
      ['public.example', address, 'host_not_listed'],
      ['127.0.0.1', address, '127.0.0.1'],
    ]);
  }
  await check('public', [
    ['127.0.0.1', 'http://0/', 'host_not_listed'],
    ['127.0.0.1', 'http://127.0.0.2/', 'host_not_listed'],
    ['127.0.0.1', 'http://[::1]/', 'host_not_listed'],
    ['127.0.0.1', 'http://[::ffff:127.0.0.1]/', 'host_not_listed'],
    ['127.0.0.1', 'http://[::127.0.0.1]/', 'host_not_listed'],
    ['127.0.0.1', 'http://[64:ff9b::127.0.0.1]/', 'host_not_listed'],
    ['localhost', 'http://127.0.0.1/', 'host_not_listed'],
    ['::1', 'http://[0:0:0:0:0:0:0:1]/', '::1'],
  ]);
});

test('a name of a public brain may not lead out of the public Internet', () =>
  check('public', [
    ['here.example', 'http://here.example/', 'address_not_public'],
    ['here6.example', 'http://here6.example/', 'address_not_public'],
    ['intranet.example', 'http://intranet.example/', 'address_not_public'],
    ['mixed.example', 'http://mixed.example/', 'address_not_public'],
    ['mixed6.example', 'http://mixed6.example/', 'address_not_public'],
    ['metadata.example', 'http://metadata.example/', 'address_not_public'],
    ['mapped.example', 'http://mapped.example/', 'address_not_public'],
    ['nat64.example', 'http://nat64.example/', 'address_not_public'],
    ['odd.example', 'http://odd.example/', 'address_not_public'],
    ['nowhere.example', 'http://nowhere.example/', 'unresolved'],
    ['unknown.example', 'http://unknown.example/', 'unresolved'],
  ]));

test('unless the operator listed that very address, or localhost for this machine', () =>
  check('public', [
    ['intranet.example 10.0.0.5', 'http://intranet.example/', '10.0.0.5'],
    ['intranet.example 10.0.0.6', 'http://intranet.example/', 'address_not_public'],
    ['intranet.example 10.0.0.5:81', 'http://intranet.example/', 'address_not_public'],
    ['intranet.example 10.0.0.5:81', 'http://intranet.example:81/', '10.0.0.5'],
    ['intranet.example localhost', 'http://intranet.example/', 'address_not_public'],
    ['here.example 127.0.0.1', 'http://here.example/', '127.0.0.1'],
    ['here.example localhost', 'http://here.example/', '127.0.0.1'],
    ['here.example localhost:81', 'http://here.example/', 'address_not_public'],
    ['mixed6.example localhost', 'http://mixed6.example/', 'address_not_public'],
    ['localhost', 'http://localhost/', '::1 127.0.0.1'],
    ['localhost:81', 'http://localhost:82/', 'host_not_listed'],
    ['10.0.0.5', 'http://10.0.0.5/', '10.0.0.5'],
    ['169.254.169.254', 'http://169.254.169.254/', '169.254.169.254'],
  ]));

test('a private brain reaches listed hosts of this machine and of private networks alone', () =>
  check('private', [
    ['localhost', 'http://localhost/', '::1 127.0.0.1'],
    ['here.example', 'http://here.example/', '127.0.0.1'],
    ['intranet.example', 'http://intranet.example/', '10.0.0.5'],
    ['192.168.1.7:81', 'http://192.168.1.7:81/', '192.168.1.7'],
    ['[fd00::7]', 'http://[fd00::7]/', 'fd00::7'],
    ['intranet.example', 'http://10.0.0.5/', 'host_not_listed'],
    ['public.example', 'http://public.example/', 'address_not_private'],
    ['93.184.216.34', 'http://93.184.216.34/', 'address_not_private'],
    ['mixed.example', 'http://mixed.example/', 'address_not_private'],
    ['metadata.example', 'http://metadata.example/', 'address_not_private'],
    ['169.254.169.254', 'http://169.254.169.254/', 'address_not_private'],
    ['0.0.0.0', 'http://0/', 'address_not_private'],
    ['::127.0.0.1', 'http://[::127.0.0.1]/', 'address_not_private'],
  ]));

test('a relative address stands on the one before it, and is judged as a whole', async () => {
  const cage = createHostCage(['public.example'], deps);
  const base = new URL('https://public.example/a/b?c');
  const table = {
    '../d': 'https://public.example/d',
    '?e': 'https://public.example/a/b?e',
    '/f#g': 'https://public.example/f',
    '//public.example/h': 'https://public.example/h',
    '//here.example/': 'host_not_listed',
    '\\\\here.example\\': 'host_not_listed',
    'http://public.example:99999/': 'bad_url',
    'file:///etc/passwd': 'scheme',
  };
  for (const [address, expected] of Object.entries(table)) {
    const admission = await cage.admit(address, base, 'public');
    const got = admission.kind === 'admitted' ? admission.url.href : outcomeOf(admission);
    assert.equal(got, expected, address);
  }
});

test('what a refusal says names no address that a name leads to', async () => {
  const cage = createHostCage(['intranet.example'], deps);
  const admission = await cage.admit('http://intranet.example/', null, 'public');
  assert.ok(admission.kind === 'refused');
  assert.doesNotMatch(admission.text, /\d/);
});
