/** The sums of a release and their signature, with a temporary key. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes, scryptSync } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newFolder } from '../../scripts/release/files.ts';
import { keyOf, makeSums, sumsPart } from '../../scripts/release/sums.ts';
import { isOnPath } from '../../src/lib/executable.ts';
import { scratch } from '../support/program.ts';

const skip = isOnPath('minisign', process.env) ? false : 'there is no minisign here';

/** A release of three files. */
async function stage() {
  const place = await scratch();
  const [folder, own] = [join(place.path, 'release'), join(place.path, 'scratch')];
  mkdirSync(join(folder, 'site', 'a'), { recursive: true });
  mkdirSync(own);
  writeFileSync(join(folder, 'svc.deb'), 'the package');
  writeFileSync(join(folder, 'site', 'index.html'), 'the page');
  writeFileSync(join(folder, 'site', 'a', 'b c.html'), 'another page');
  const options = { folder, scratch: own, version: '1.2.3' };
  return { ...place, folder, options };
}

/** @returns the files of a key pair without a password */
function newKey(folder: string): { secret: string; publicKey: string } {
  const [secret, publicKey] = [join(folder, 'a.key'), join(folder, 'a.pub')];
  execFileSync('minisign', ['-G', '-W', '-s', secret, '-p', publicKey], { stdio: 'pipe' });
  return { secret, publicKey };
}

/**
 * Locks a key with a password, as minisign does, but with a small cost for deriving the key. The
 * file contains that cost; minisign's own takes seconds of CPU and 1 GiB.
 * https://jedisct1.github.io/minisign/#secret-key-format
 */
function lock(file: string, password: string): void {
  const [comment = '', line = ''] = readFileSync(file, 'utf8').split('\n');
  const bytes = Buffer.from(line, 'base64');
  const [salt, locked] = [bytes.subarray(6, 38), bytes.subarray(54)];
  const input = Buffer.concat([bytes.subarray(0, 2), locked.subarray(0, 72)]);
  const sum = execFileSync('b2sum', ['--length=256'], { input, encoding: 'utf8' });
  locked.write(sum.slice(0, 64), 72, 'hex');
  bytes.write('Sc', 2, 'latin1');
  randomBytes(32).copy(salt);
  // This number of steps and bytes equals scrypt's cost of 1024.
  bytes.writeBigUInt64LE(32_768n, 38);
  bytes.writeBigUInt64LE(16_777_216n, 46);
  const stream = scryptSync(password, salt, locked.length, { cost: 1024, blockSize: 8 });
  for (const [at, byte] of stream.entries()) locked[at]! ^= byte;
  writeFileSync(file, `${comment}\n${bytes.toString('base64')}\n`);
}

const verifies = (publicKey: string, folder: string): boolean => {
  const args = ['-V', '-p', publicKey, '-m', join(folder, 'SHA256SUMS')];
  return spawnSync('minisign', args).status === 0;
};

const areWhole = (folder: string): boolean =>
  spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder }).status === 0;

test('the sums are of every file, in order, and see one changed byte', async () => {
  await using place = await stage();
  const made = await makeSums({ ...place.options, key: null });
  assert.deepEqual(made, ['SHA256SUMS', 'UNSIGNED']);
  const text = readFileSync(join(place.folder, 'SHA256SUMS'), 'utf8');
  const names = text.split('\n').map((line) => line.slice(66));
  assert.deepEqual(names, ['site/a/b c.html', 'site/index.html', 'svc.deb', '']);
  assert.match(readFileSync(join(place.folder, 'UNSIGNED'), 'utf8'), /^Nobody has signed this/);
  assert.equal(existsSync(join(place.folder, 'SHA256SUMS.minisig')), false);
  assert.equal(areWhole(place.folder), true);
  appendFileSync(join(place.folder, 'site', 'a', 'b c.html'), '.');
  assert.equal(areWhole(place.folder), false);
});

test('what is no plain file stops them', async () => {
  await using place = await stage();
  symlinkSync('svc.deb', join(place.folder, 'latest.deb'));
  await assert.rejects(makeSums({ ...place.options, key: null }), /latest\.deb is no plain file/);
  assert.equal(existsSync(join(place.folder, 'SHA256SUMS')), false);
});

test('a key signs them, twice the same, and a changed sum is seen', { skip }, async () => {
  await using place = await stage();
  const { secret, publicKey } = newKey(place.path);
  const key = keyOf({ SVC_MINISIGN_KEY: secret });
  await makeSums({ ...place.options, key: null });
  const made = await makeSums({ ...place.options, key });
  assert.deepEqual(made, ['SHA256SUMS', 'SHA256SUMS.minisig']);
  assert.equal(existsSync(join(place.folder, 'UNSIGNED')), false);
  assert.equal(areWhole(place.folder), true);
  assert.equal(verifies(publicKey, place.folder), true);
  const signed = readFileSync(join(place.folder, 'SHA256SUMS.minisig'), 'utf8');
  await makeSums({ ...place.options, key });
  assert.equal(readFileSync(join(place.folder, 'SHA256SUMS.minisig'), 'utf8'), signed);

  const text = readFileSync(join(place.folder, 'SHA256SUMS'), 'utf8');
  const changed = (text.startsWith('0') ? '1' : '0') + text.slice(1);
  writeFileSync(join(place.folder, 'SHA256SUMS'), changed);
  assert.equal(verifies(publicKey, place.folder), false);
});

test('what is not a whole release of a commit is not signed', { skip }, async (t) => {
  await using place = await stage();
  const { secret } = newKey(place.path);
  process.env['SVC_MINISIGN_KEY'] = secret;
  t.after(() => delete process.env['SVC_MINISIGN_KEY']);
  const namesOf = async (scratchName: string, mayBeSigned: boolean): Promise<unknown> => {
    const own = newFolder(place.path, scratchName);
    return sumsPart.make({ ...place.options, scratch: own, mayBeSigned });
  };
  const signed = { kind: 'made', names: ['SHA256SUMS', 'SHA256SUMS.minisig'] };
  assert.deepEqual(await namesOf('whole', true), signed);
  const unsigned = { kind: 'made', names: ['SHA256SUMS', 'UNSIGNED'] };
  assert.deepEqual(await namesOf('a part', false), unsigned);
  assert.equal(existsSync(join(place.folder, 'SHA256SUMS.minisig')), false);
});

test('a key that cannot sign leaves no sums at all', { skip }, async () => {
  await using place = await stage();
  const { publicKey } = newKey(place.path);
  await makeSums({ ...place.options, key: null });
  const key = { file: publicKey, password: '' };
  await assert.rejects(makeSums({ ...place.options, key }), /minisign -S .* ended with 2/);
  for (const name of ['SHA256SUMS', 'SHA256SUMS.minisig', 'UNSIGNED']) {
    assert.equal(existsSync(join(place.folder, name)), false, name);
  }
});

test('a key with a password signs, and its password alone', { skip }, async () => {
  await using place = await stage();
  const { secret, publicKey } = newKey(place.path);
  lock(secret, 'a password of the tests');
  const keyWith = (password: string) => {
    return keyOf({ SVC_MINISIGN_KEY: secret, SVC_MINISIGN_PASSWORD: password });
  };
  await makeSums({ ...place.options, key: keyWith('a password of the tests') });
  assert.equal(verifies(publicKey, place.folder), true);
  const refused = makeSums({ ...place.options, key: keyWith('another') });
  await assert.rejects(refused, /Wrong password/);
  assert.deepEqual(readdirSync(place.folder).sort(), ['site', 'svc.deb']);
});

test('a key that is named and not there is no release without a signature', () => {
  assert.equal(keyOf({}), null);
  assert.equal(keyOf({ SVC_MINISIGN_KEY: '' }), null);
  assert.throws(() => keyOf({ SVC_MINISIGN_KEY: '/nowhere/a.key' }), /names \/nowhere\/a\.key/);
});
