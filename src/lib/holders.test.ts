import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { holderOfFile, holderOfPort, sayHolder } from './holders.ts';

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
    // A child in the terms of `node -e`: the first argument after the program is process.argv[1].
    const child = spawn(process.execPath, ['-e', program, import.meta.filename]);
    try {
      const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      assert.equal(holderOfFile(import.meta.filename), child.pid);
      assert.equal(holderOfPort(Number(line)), child.pid);
      assert.equal(sayHolder(child.pid!), ` (process ${child.pid})`);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  },
);

test('of what nobody is known to hold nothing is said', () => {
  assert.equal(holderOfFile(`${import.meta.filename}.none`), null);
  assert.equal(sayHolder(holderOfPort(1)), '');
});
