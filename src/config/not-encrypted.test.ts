import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEncrypted } from './address.ts';
import { ProblemList } from './problems.ts';

function codesOf(url: string | null | undefined): readonly string[] {
  const problems = new ProblemList('', new Map());
  checkEncrypted(url, 'the key', 'base_url', problems);
  return problems.sorted().map(({ code }) => code);
}

test('a secret may go over plain http to this machine, and elsewhere over https', () => {
  const fine =
    'http://127.0.0.1:8000 http://localhost http://[::1]:1 https://a.test HTTPS://a.test';
  for (const url of [...fine.split(' '), null, undefined, 'nonsense']) {
    assert.deepEqual(codesOf(url), [], String(url));
  }
  for (const url of [
    'http://a.test',
    'HTTP://10.0.0.2:8080',
    'http://[fd00::2]',
    'http://0.0.0.0',
  ]) {
    assert.deepEqual(codesOf(url), ['not_encrypted'], url);
  }
});
