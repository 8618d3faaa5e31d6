import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantedPath } from './cage.ts';

test('a path is names below the root; nothing is decoded or resolved', () => {
  for (const [path, parts] of [
    ['a', ['a']],
    ['./a//b/', ['a', 'b']],
    ['%2e%2e/a', ['%2e%2e', 'a']],
    ['a\\..\\b', ['a\\..\\b']],
    ['a..b/..c/d..', ['a..b', '..c', 'd..']],
    ['.hidden', ['.hidden']],
    ['', []],
    ['/srv/files/a', ['a']],
    ['//srv/./files//a', ['a']],
    ['/srv/files', []],
    ['/real/files/a', ['a']],
  ] as const) {
    const wanted = wantedPath(path, ['/srv/files', '/real/files']);
    assert.deepEqual(wanted, { kind: 'wanted', parts }, path);
  }
});

test('on Windows both slashes part names, a drive must be the root’s, and no colon is left', () => {
  const roots = ['C:\\Files\\Open'];
  const table: readonly (readonly [string, readonly string[] | string])[] = [
    ['a\\b/c', ['a', 'b', 'c']],
    ['c:/files/OPEN/a', ['a']],
    ['C:\\Files\\Open\\A.txt', ['A.txt']],
    ['..\\secret', 'parent_part'],
    ['a\\..\\..\\secret', 'parent_part'],
    ['.. \\secret', 'parent_part'],
    ['C:\\Files\\Opened\\a', 'outside_root'],
    ['D:\\a', 'outside_root'],
    ['C:a', 'outside_root'],
    ['\\Windows\\a', 'outside_root'],
    ['\\\\server\\share\\a', 'outside_root'],
    ['\\\\?\\C:\\a', 'outside_root'],
    ['a.txt:stream', 'outside_root'],
    ['a.txt::$DATA', 'outside_root'],
  ];
  for (const [path, expected] of table) {
    const wanted = wantedPath(path, roots, true);
    assert.deepEqual(wanted.kind === 'wanted' ? wanted.parts : wanted.rule, expected, path);
  }
});
