/** svc with a low limit of open files: it reports the limit, and continues. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { diskLine, openFilesLine } from '../../src/cli/doctor/doctor.ts';
import { openFilesMin } from '../../src/lib/listener.ts';
import { metricOf } from '../chaos/outside.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { launcher, runProgram } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';

const skip = process.platform !== 'linux' && 'only Linux tells of open files';

function runWithFewFiles(args: readonly string[], cwd: string) {
  const line = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, launcher, ...args];
  return runProgram('sh', line, { cwd, env: { WEBHOOK_SECRET: secret } });
}

test(
  'connections beyond the files are closed, counted and told, and others served',
  { skip },
  async () => {
    await using folder = await scratch();
    await using model = await startFakeOllama({ answer: 'hello' }, { models: ['llama3.2'] });
    await using receiver = await startReceiver();
    const [port, adminPort] = [await freePort(), await freePort()];
    const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
    await writeConfig(folder.path, { ...webhookConfig(where), storage: { path: 'svc.db' } });
    const doctor = runWithFewFiles(['doctor'], folder.path);
    await doctor.ended;
    assert.match(
      doctor.out(),
      /\n! open files: only 64 may be open at once, .*\n {2}.*LimitNOFILE/,
    );
    assert.match(doctor.out(), /\n[✓!✗] disk: .* are free; below /, 'before there is a database');
    const program = runWithFewFiles(['serve'], folder.path);
    const sockets: Socket[] = [];
    try {
      await program.until(/"listening"/, 'err');
      for (let i = 0; i < 80; i++) {
        sockets.push(
          connect(port, '127.0.0.1')
            .on('error', () => {})
            .resume(),
        );
      }
      await program.until(/"connections_full".*as many are open/, 'err');
      const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      assert.ok(metricOf(metrics, 'svc_shortages_total', 'connections') > 0, metrics);
      for (const socket of sockets) socket.destroy();
      const url = `http://127.0.0.1:${port}/webhook`;
      const said = { sender_id: 'ada', text: 'hello' };
      const isTaken = async (): Promise<boolean> =>
        (await post(url, said).catch(() => null))?.status === 200;
      await until('a message is taken', isTaken);
      await receiver.waitFor(1);
      assert.doesNotMatch(program.err(), /model_failed|files_full/);
    } finally {
      program.child.kill('SIGTERM');
      await program.ended;
    }
  },
);

test('a disk with less than must be free fails, and few files are a warning', () => {
  const mebibyte = 1024 * 1024;
  const least = 256 * mebibyte;
  const marks = [20, 300, 1_024].map((free) => {
    return diskLine({ freeBytes: free * mebibyte, freeBytesMin: least }).mark;
  });
  assert.deepEqual(marks, ['failed', 'warning', 'ok']);
  const of = (max: number): string => openFilesLine(max).mark;
  assert.deepEqual([of(openFilesMin - 1), of(openFilesMin)], ['warning', 'ok']);
});
