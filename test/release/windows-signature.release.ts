/** The program for Windows, signed with a temporary certificate. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { signForWindows } from '../../scripts/release/sign-windows.ts';
import { isOnPath } from '../../src/lib/executable.ts';
import { scratch } from '../support/program.ts';
import { made } from './made.ts';
import { version } from './smoke.ts';

const program = made('one-file', `svc-${version}-win-x64.exe`);
const missing = ['osslsigncode', 'openssl'].filter((one) => !isOnPath(one, process.env));
const skip =
  missing.length > 0
    ? `NOT TRIED: the signature for Windows; there is no ${missing.join(' and no ')}.`
    : program.skip;

test(
  'a certificate signs the program for Windows, and without one it stays as it is',
  { skip },
  async () => {
    await using folder = await scratch();
    const at = (name: string): string => join(folder.path, name);
    const openssl = (...args: readonly string[]): unknown => {
      return execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    };
    const key = [
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      at('key'),
      '-subj',
      '/CN=svc of a test',
    ];
    const use = ['-addext', 'extendedKeyUsage=codeSigning'];
    openssl('req', '-x509', ...key, ...use, '-days', '2', '-out', at('cert'));
    writeFileSync(at('password'), 'a password of the tests');
    const pair = ['-inkey', at('key'), '-in', at('cert'), '-passout', `file:${at('password')}`];
    openssl('pkcs12', '-export', ...pair, '-out', at('pair'));
    copyFileSync(program.path, at('svc.exe'));
    const verified = (): string => {
      const args = ['verify', '-CAfile', at('cert'), '-in', at('svc.exe')];
      const { stdout, stderr } = spawnSync('osslsigncode', args, { encoding: 'utf8' });
      return stdout + stderr;
    };
    await signForWindows(at('svc.exe'), 0, {});
    assert.match(verified(), /No signature found/i);
    const env = { SVC_WINDOWS_CERTIFICATE: at('pair'), SVC_WINDOWS_PASSWORD_FILE: at('password') };
    await signForWindows(at('svc.exe'), Math.floor(Date.now() / 1000), env);
    assert.match(verified(), /Signature verification: ok/);
  },
);
