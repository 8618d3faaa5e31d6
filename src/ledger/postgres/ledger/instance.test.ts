import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { takeInstance, type Taken } from '../../../../test/fake/postgres/former-instance.ts';
import { farProcess, goneProcess, Marks } from '../../../../test/fake/postgres/marks.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import {
  endedByStorage,
  endedClean,
  ownProcess,
  type ProcessFacts,
  type TakingDeps,
} from './instance.ts';
import { patienceMs, until } from '../../../../test/support/waiting.ts';

function take(marks: Marks, parts: Partial<TakingDeps> = {}): Promise<Taken> {
  return takeInstance(marks.client, { version: '1', self: goneProcess, ...parts });
}

/** A test that reads facts of other processes, which only Linux shows. */
function linuxTest(name: string, act: () => Promise<void>): void {
  if (platform() === 'linux') postgresTest(name, act);
}

postgresTest('how it ended is noted once', async () => {
  await using marks = await Marks.open();
  const id = await marks.take();
  await marks.client.query(endedByStorage.text, [...endedByStorage.values(id, 'm1')]);
  await marks.client.query(endedByStorage.text, [...endedByStorage.values(id, 'm2')]);
  assert.equal((await marks.instance(id))['ended'], '{"alone":"m1"}');
  // An instance that was taken over cannot mark an orderly end.
  await marks.take();
  await marks.client.query(endedClean.text, [...endedClean.values(id)]);
  assert.equal((await marks.instance(id))['ended'], '{"alone":"m1"}');
});

/** Makes the heartbeat of the only live instance older. */
async function age(marks: Marks, interval: string): Promise<void> {
  const text = `UPDATE svc.instance SET beat_at = clock_timestamp() - interval '${interval}'`;
  await marks.client.query(text);
}

postgresTest('one that sends heartbeats while it is watched keeps the database', async () => {
  await using marks = await Marks.open();
  await take(marks, { self: farProcess });
  const other = await marks.another();
  const waits: number[] = [];
  const started = takeInstance(other, {
    version: '2',
    self: goneProcess,
    waits(ms) {
      waits.push(ms);
      void age(marks, '1 s');
    },
  });
  const found = await started;
  assert.ok(found.kind === 'locked');
  assert.deepEqual(found.process, farProcess);
  assert.ok(Math.abs(found.since.getTime() - Date.now()) < patienceMs);
  assert.equal(waits.length, 1);
  assert.ok(waits[0]! > 0 && waits[0]! <= 10_000, String(waits[0]));
  assert.equal((await marks.instance(1))['dead'], false);
});

postgresTest(
  'one of which nothing can be told is dead when its heartbeat is old enough',
  async () => {
    await using marks = await Marks.open();
    await take(marks, { self: farProcess });
    await age(marks, '4 s');
    const waits: number[] = [];
    const other = await marks.another();
    const taken = await takeInstance(other, {
      version: '1',
      self: farProcess,
      waits(ms) {
        waits.push(ms);
        void age(marks, '10.1 s');
      },
    });
    assert.ok(taken.kind === 'taken');
    assert.equal(taken.id, 2);
    assert.equal(waits.length, 1);
    assert.ok(waits[0]! <= 6_000, String(waits[0]));
    assert.equal((await marks.instance(1))['dead'], true);
    await age(marks, '10.1 s');
    const next = await take(marks, { self: farProcess, waits: () => assert.fail('it waits') });
    assert.equal(next.kind, 'taken');
  },
);

postgresTest(
  'a heartbeat that lies ahead, since the clock was set back, is watched instead',
  async () => {
    await using marks = await Marks.open();
    await take(marks, { self: farProcess });
    await age(marks, '-1 hour');
    let now = 0;
    const waits: number[] = [];
    const taken = await take(marks, {
      waits: (ms) => waits.push(ms),
      steady: () => (now += 4_000) as SteadyTime,
    });
    assert.equal(taken.kind, 'taken');
    assert.deepEqual(waits, [10_000]);
  },
);

postgresTest('one that ends while it is watched makes way at once', async () => {
  await using marks = await Marks.open();
  const id = await marks.take(farProcess);
  const other = await marks.another();
  const taken = await takeInstance(other, {
    version: '2',
    self: farProcess,
    waits: () => void marks.client.query(endedClean.text, [...endedClean.values(id)]),
  });
  assert.deepEqual(taken, { kind: 'taken', id: 2 });
});

postgresTest('the waiting can be ended', async () => {
  await using marks = await Marks.open();
  await take(marks, { self: farProcess });
  const ending = new AbortController();
  const reason = new Error('it is not to start');
  const taking = take(marks, { waits: () => ending.abort(reason), signal: ending.signal });
  await assert.rejects(taking, (error: Error) => error === reason || error.cause === reason);
  assert.equal((await marks.instance(1))['dead'], false);
});

/** The facts that the process with this pid would store. */
function factsOf(pid: number): ProcessFacts {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const began = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
  return { ...ownProcess(), pid, began };
}

/** Whether a start on this machine takes over without a wait. */
async function isTakenAtOnce(marks: Marks, facts: ProcessFacts): Promise<boolean> {
  await marks.client.query('UPDATE svc.instance SET dead = true');
  await take(marks, { self: facts });
  const waiting = new AbortController();
  const parts = { self: ownProcess(), waits: () => waiting.abort(), signal: waiting.signal };
  return take(marks, parts).then(
    () => true,
    () => false,
  );
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

linuxTest('a process of this machine that is gone makes way at once', async () => {
  await using marks = await Marks.open();
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const facts = factsOf(child.pid!);
  try {
    assert.equal(await isTakenAtOnce(marks, facts), false, 'while it lives');
    assert.equal(await isTakenAtOnce(marks, { ...facts, began: '1' }), true, 'another has its id');
    const elsewhere = { ...facts, began: '1' };
    assert.equal(await isTakenAtOnce(marks, { ...elsewhere, boot: 'x' }), false, 'elsewhere');
    assert.equal(await isTakenAtOnce(marks, { ...elsewhere, space: 'x' }), false, 'in a container');
  } finally {
    await end(child);
  }
  assert.equal(await isTakenAtOnce(marks, facts), true, 'when it is gone');
});

linuxTest('a zombie makes way at once', async () => {
  await using marks = await Marks.open();
  const script = 'sleep 600 & echo $!; exec sleep 600';
  const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const facts = factsOf(Number(said.toString()));
  try {
    assert.equal(await isTakenAtOnce(marks, facts), false, 'while it lives');
    // Until the shell has become `sleep`, it may still reap its child.
    const parent = (): string => readFileSync(`/proc/${child.pid}/comm`, 'utf8');
    await until('its parent waits for nobody', () => parent() === 'sleep\n');
    process.kill(facts.pid, 'SIGKILL');
    const stat = (): string => readFileSync(`/proc/${facts.pid}/stat`, 'utf8');
    await until('nobody has waited for it', () => stat().includes(') Z '));
    assert.equal(await isTakenAtOnce(marks, facts), true);
  } finally {
    await end(child);
  }
});
