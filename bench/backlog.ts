/**
 * Measures a restart with a hundred thousand waiting messages: the time until the port is open, and
 * the memory then and a second later. For comparison, a start without messages. The model never
 * answers, so the backlog stays as it is.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, webhookConfig } from '../test/support/program.ts';
import { keep } from './kept.ts';
import { Lab, subjectName } from './lab.ts';
import { median } from './stats.ts';

const waiting = 100_000;
const starts = 3;

const silent = createServer().listen(0, '127.0.0.1');
await once(silent, 'listening');
const modelUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
await using lab = await Lab.open(false);
console.log(subjectName());
for (const [messages, conversations] of [
  [0, 1],
  [waiting, 1_000],
  [waiting, waiting],
] as const) {
  const path = join(lab.folder, `${messages}-${conversations}.db`);
  await keep(path, { messages, conversations, settledDaysAgo: null });
  for (const stop of ['orderly', 'unclean'] as const) {
    const told = await measure(path, stop);
    console.log(`${messages} messages of ${conversations} after an ${stop} stop: ${told}`);
  }
}
silent.close();

async function measure(path: string, stop: 'orderly' | 'unclean'): Promise<string> {
  const ms: number[] = [];
  const megabytes: number[] = [];
  const later: number[] = [];
  for (let start = 0; start < starts; start++) {
    if (stop === 'unclean') forgetStop(path);
    const port = await freePort();
    const config = await writeStored(path, port);
    const { pid, ms: took } = await lab.boot([lab.program, 'serve', '--config', config], port);
    ms.push(took);
    megabytes.push(megabytesOf(pid));
    await pause(1_000);
    later.push(megabytesOf(pid));
    await lab.stop(pid);
  }
  return (
    `port open after ${Math.round(median(ms))} ms; ${Math.round(median(megabytes))} MB, ` +
    `${Math.round(median(later))} MB a second later`
  );
}

/** Makes the database look as if its last process crashed, and no other ran before. */
function forgetStop(path: string): void {
  const db = new DatabaseSync(path);
  db.exec('UPDATE owner SET clean = 0; UPDATE inbox SET attempts = 0 WHERE attempts > 0');
  db.close();
}

async function writeStored(path: string, port: number): Promise<string> {
  const adminPort = await freePort();
  const where = { port, adminPort, modelUrl, receiverUrl: `${modelUrl}/reply` };
  const { channels, ...rest } = webhookConfig(where);
  const named = channels.map((channel) => ({ ...channel, token_env: 'BENCH_TOKEN' }));
  const file = join(lab.folder, `svc-${port}.json`);
  writeFileSync(file, JSON.stringify({ channels: named, ...rest, storage: { path } }));
  return file;
}

/** The resident memory. proc_pid_status(5): VmRSS. */
function megabytesOf(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kilobytes) / 1_000;
}
