/**
 * Measures the deletion of a million old rows. It reports the delay of replies at 300 messages a
 * second, with deletion and without on the same database, and the throughput. The model answers in
 * 0 ms. Argument: another number of rows.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { keep } from './kept.ts';
import { Lab, subjectName, type Server } from './lab.ts';
import type { Measured } from './record.ts';

/** A message, its reply and its trace. */
const rowsEach = 3;
const messages = Math.ceil(Number(process.argv[2] ?? 1_000_000) / rowsEach);
const load = { shape: { perSecond: 300 }, conversations: 1_000 };

await using lab = await Lab.open(false);
console.log(subjectName());
const kept = join(lab.folder, 'kept.db');
await keep(kept, { messages, conversations: 5_000, settledDaysAgo: 40 });
for (const round of [1, 2]) {
  for (const retentionDays of [0, 30]) {
    const path = join(lab.folder, `${round}-${retentionDays}.db`);
    for (const end of ['', '.stamps']) copyFileSync(kept + end, path + end);
    const told = await measure(path, retentionDays);
    console.log(`${retentionDays === 0 ? 'nothing is deleted' : 'during a sweep'}: ${told}`);
  }
}

async function measure(path: string, retentionDays: number): Promise<string> {
  const server = await startOn(path, retentionDays);
  await lab.round(server, { ...load, ms: 2_000 });
  const [before, begunAt] = [oldestIn(path), Date.now()];
  const measured = await lab.round(server, { ...load, ms: 8_000 });
  const perSecond = ((oldestIn(path) - before) * 1_000) / (Date.now() - begunAt);
  await lab.stop(server.pid);
  return `${say(measured)}; ${Math.round(perSecond)} messages deleted a second`;
}

function say({ p50Ms, p99Ms, cpuUs, lost, failed }: Measured): string {
  const late = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
  return `${late}, ${Math.round(cpuUs)} µs CPU a message; ${lost + failed} lost`;
}

/** Starts the lab's own service again on that database. */
async function startOn(path: string, retentionDays: number): Promise<Server> {
  const { port, pid } = await lab.startSubject('durable');
  await lab.stop(pid);
  const config = join(lab.folder, `svc-${port}.json`);
  const document = JSON.parse(readFileSync(config, 'utf8')) as object;
  const storage = { path, retention_days: retentionDays };
  writeFileSync(config, JSON.stringify({ ...document, storage }));
  return { port, ...(await lab.boot([lab.program, 'serve', '--config', config], port)) };
}

function oldestIn(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const oldest = Number(db.prepare('SELECT min(seq) AS seq FROM inbox').get()?.['seq']);
  db.close();
  return oldest;
}
