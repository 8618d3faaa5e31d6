import assert from 'node:assert/strict';
import { chownSync, closeSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareFiles, takeOwnerLock } from './database-files.ts';
import { giveToOwnerOf } from '../../../lib/owner-of-folder.ts';

const somebody = 61_234;
const skip = process.getuid?.() !== 0 && 'only root may give a file away';

test('what root makes belongs to whose folder it is in', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-owner-'));
  const ownerOf = (name: string): readonly number[] => {
    const { uid, gid } = statSync(join(folder, name));
    return [uid, gid];
  };
  const make = (name: string): void => {
    const fd = openSync(join(folder, name), 'wx');
    giveToOwnerOf(folder, fd);
    closeSync(fd);
  };
  try {
    make('own');
    chownSync(folder, somebody, somebody);
    make('given');
    prepareFiles(join(folder, 'svc.db'));
    takeOwnerLock(join(folder, 'svc.db'))?.release();
    assert.deepEqual(ownerOf('own'), [0, 0]);
    for (const name of ['given', 'svc.db', 'svc.db.lock']) {
      assert.deepEqual(ownerOf(name), [somebody, somebody], name);
    }
    // What was there already may be a link to anything.
    chownSync(join(folder, 'svc.db'), 0, 0);
    prepareFiles(join(folder, 'svc.db'));
    assert.deepEqual(ownerOf('svc.db'), [0, 0]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
