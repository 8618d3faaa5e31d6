import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemOf } from './problem.ts';

const remedies = {
  EACCES: /cannot be written; give this user the right to, or name another storage\.path\.$/,
  EROFS: /cannot be written; give this user the right to/,
  ENOENT: /cannot be made, nor its folder; give this user the right to write there, /,
  ENOTDIR: /a part of its path is no folder; name another storage\.path\.$/,
  ENOSPC: /stands on a full disk; make room\.$/,
  EMFILE: /may open no more files; raise ulimit -n\.$/,
} as const;

test('what the system says of the files comes with what to do, and whether a restart helps', () => {
  for (const [code, remedy] of Object.entries(remedies)) {
    const { message } = problemOf('/data/svc.db', { code, message: `${code}: open` });
    assert.match(message, remedy);
    assert.doesNotMatch(message, /E[A-Z]{4}/, 'no word of the system alone');
  }
  const passing = Object.keys(remedies).filter(
    (code) => problemOf('/', { code, message: '' }).isPassing,
  );
  assert.deepEqual(passing, ['ENOSPC', 'EMFILE']);
});
