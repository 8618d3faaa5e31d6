import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../test/support/program.ts';
import { holderOfFile, holderOfPort, lockerOfByte, describeHolder } from './holders.ts';

const program = `
  const { openSync } = require('fs');
  openSync(process.argv[1]);
  const server = require('net').createServer().listen(0, '::', () => {
    console.log(String(server.address().port));
  });
`;

const skip = process.platform !== 'linux' && 'only Linux tells who holds what';

test(
  'another process is known by the file that it has open and by its port',
  { skip },
  async () => {
    // For a child by `node -e`, process.argv[1] is the first argument after the program.
    const child = spawn(process.execPath, ['-e', program, import.meta.filename]);
    try {
      const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      assert.equal(holderOfFile(import.meta.filename), child.pid);
      assert.equal(holderOfPort(Number(line)), child.pid);
      assert.equal(describeHolder(child.pid!), ` (process ${child.pid})`);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  },
);

test('another process is known by the byte that it has locked', { skip }, async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'a.db');
  const locking = `
    const db = new (require('node:sqlite').DatabaseSync)(process.argv[1]);
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE a (b); BEGIN IMMEDIATE');
    console.log('locked');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['-e', locking, path]);
  try {
    await once(child.stdout.setEncoding('utf8'), 'data');
    assert.equal(lockerOfByte(`${path}-shm`, 120), child.pid);
    assert.equal(lockerOfByte(`${path}-shm`, 119), null);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  assert.equal(lockerOfByte(`${path}-shm`, 120), null);
});

test('of what nobody is known to hold nothing is said', () => {
  assert.equal(holderOfFile(`${import.meta.filename}.none`), null);
  assert.equal(describeHolder(holderOfPort(1)), '');
});
