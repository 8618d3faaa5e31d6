/**
 * A day of messages through the real program, as fast as it goes: conversations come and go, the
 * cleanup removes old rows, metrics are scraped. Memory, files, timers and gauges stay flat,
 * nothing is lost and nothing comes out of order.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { freePort, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { childrenOf } from '../support/run-svc.ts';
import { seeded, type Proof, type Proved } from './proof.ts';
import { Crowd } from './soak/crowd.ts';
import { figures, mebibytesOf, sampleOf, type Sample } from './soak/figures.ts';
import { growthOf, samplesMin } from './soak/flatness.ts';
import { patienceMs, until } from '../support/waiting.ts';

/** 20 a second for 24 hours. */
const dayMessages = 20 * 86_400;
/** On a slower machine the run ends after this time. */
const longestMs = 6.5 * 60_000;
const samplesMax = 120;
const conversationsMax = 100_000;
const retentionDays = 1;

/**
 * Loaded into the program beside its own code: it collects garbage on a signal, and reports that.
 * Garbage would hide a small leak for long.
 */
const collector = `data:text/javascript,${encodeURIComponent(
  "import { setFlagsFromString } from 'node:v8';" +
    "import { runInNewContext } from 'node:vm';" +
    "setFlagsFromString('--expose-gc');" +
    "const collect = runInNewContext('gc');" +
    "let times = 0;process.on('SIGUSR2', () => {collect();" +
    'process.stderr.write(`collected ${++times} times\\n`)});',
).replaceAll("'", '%27')}`;

export const soak: Proof = {
  name: 'soak',
  title: 'A day of messages: flat memory, files and timers',
  unit: 'messages',
  sizes: { change: 10_000, nightly: dayMessages },
  run: prove,
};

async function prove(count: number, seed: number, say: (line: string) => void): Promise<Proved> {
  await using folder = await scratch();
  await using crowd = new Crowd(seeded(seed), Math.min(conversationsMax, Math.ceil(count / 10)));
  await crowd.open();
  const [port, adminPort] = [await freePort(), await freePort()];
  const { modelUrl, receiverUrl } = crowd;
  const config = webhookConfig({ port, adminPort, modelUrl, receiverUrl });
  const storage = { path: 'svc.db', retention_days: retentionDays };
  const file = await writeConfig(folder.path, { ...config, storage });
  await using program = await serve(file, port, { NODE_OPTIONS: `--import=${collector}` });
  const pid = childrenOf(program.child.pid!)[0] ?? program.child.pid!;
  crowd.enter(port);
  const database = join(folder.path, 'svc.db');
  const samples: Sample[] = [];
  const wanted = Math.max(samplesMin, Math.min(samplesMax, Math.floor(count / 200)));
  const started = Date.now();
  for (let taken = 0; taken < wanted; taken++) {
    const left = Math.round((count * (taken + 1)) / wanted) - crowd.replied;
    await crowd.talk(left, taken / wanted);
    process.kill(pid, 'SIGUSR2');
    const collected = `collected ${taken + 1} times`;
    await until('the garbage is collected', () => program.log().includes(collected));
    samples.push(await sampleAtRest(`http://127.0.0.1:${adminPort}`, pid));
    age(database);
    const ms = Date.now() - started;
    if (taken % 20 === 19) say(`${crowd.replied} messages in ${Math.round(ms / 1_000)} s`);
    if (ms > longestMs && taken + 1 >= samplesMin) break;
  }
  const perSecond = Math.round(crowd.replied / ((Date.now() - started) / 1_000));
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0);
  const grown = judge(samples, crowd.replied, say);
  return {
    kind: 'proved',
    figures: {
      messages: crowd.replied,
      'a second': perSecond,
      'lost or out of order': 0,
      'database MiB': mebibytesOf(database),
      ...grown,
    },
  };
}

/** Waits until the last deliveries are written down, and takes a sample. */
async function sampleAtRest(adminUrl: string, pid: number): Promise<Sample> {
  let sample: Sample = {};
  await until('what was delivered is written down', async () => {
    sample = await sampleOf(adminUrl, pid);
    return sample['rows in the ledger'] === 0;
  });
  return sample;
}

/** Judges each figure from the second quarter to the last; a figure that grows is a leak. */
function judge(
  samples: readonly Sample[],
  messages: number,
  say: (line: string) => void,
): Record<string, string> {
  const ranges: Record<string, string> = {};
  const leaks: string[] = [];
  for (const [name, { allowed, from, memory = false }] of Object.entries(figures)) {
    const values = samples.map((sample) => sample[name]!);
    const growth = growthOf(values, allowed);
    const line = `${growth.from.toFixed(1)} → ${growth.to.toFixed(1)}`;
    const whole = `${name}: ${line}, by the slope ${growth.slopeGrowth.toFixed(1)}`;
    say(whole);
    if (messages < from) continue;
    if (memory) ranges[name] = line;
    if (!growth.flat) leaks.push(`${whole} (${values.map((value) => value.toFixed(1)).join(' ')})`);
  }
  assert.deepEqual(leaks, [], 'nothing grows');
  ranges['figures that grow'] = '0';
  return ranges;
}

/** Makes settled rows old enough for the cleanup, as if time had passed. */
function age(database: string): void {
  const db = new DatabaseSync(database);
  db.exec(`PRAGMA busy_timeout = ${patienceMs}`);
  for (const table of ['inbox', 'outbox']) {
    db.exec(`UPDATE ${table} SET settled_at = 1 WHERE state = 1 AND settled_at > 1`);
  }
  db.close();
}
