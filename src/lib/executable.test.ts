import assert from 'node:assert/strict';
import { basename, delimiter, dirname, relative } from 'node:path';
import { test } from 'node:test';
import { canRun, isOnPath } from './executable.ts';

const [folder, node] = [dirname(process.execPath), basename(process.execPath)];

test('a program is one that may be run, in a folder of the search path', () => {
  assert.ok(canRun(process.execPath));
  assert.ok(!canRun(import.meta.filename));
  assert.ok(isOnPath(node, { PATH: `/nowhere${delimiter}${folder}` }));
  assert.ok(!isOnPath(node, { PATH: '/nowhere' }));
  assert.ok(!isOnPath(node, {}));
});

test('what lies in a relative folder of the search path is whatever somebody put there', () => {
  assert.ok(!isOnPath(node, { PATH: `${relative(process.cwd(), folder)}:` }));
});
