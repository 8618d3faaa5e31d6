/**
 * Faults everywhere between svc and a PostgreSQL server: svc and the server are killed, connections
 * are cut, the server is silent for a while, the network is slow, the server's disk is full.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { noOwnPostgres } from '../fake/postgres.ts';
import { PostgresServer } from '../fake/postgres/server.ts';
import { Way } from '../fake/postgres/way.ts';
import type { Left } from './audit.ts';
import { Managed } from './managed.ts';
import { someMoment } from './moments.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnAfter } from './ran-alone.ts';
import { World } from './world.ts';
import { until } from '../support/waiting.ts';

const speakers = 6;
const latencies = [0, 0, 5, 50];
/** Longer than svc waits before it reports that the server is away. */
const silenceMsMax = 8_000;
const diskMiB = 160;
const fullMs = 3_000;
const awayMs = 500;

const strikes = ['svc', 'server', 'cut', 'cut', 'silence', 'full'] as const;
type Strike = (typeof strikes)[number];

export const postgres: Proof = {
  name: 'postgres',
  title:
    'SIGKILL of svc and of the server, cut and silent connections, 0, 5 and 50 ms each way, a ' +
    'full disk of the server: nothing that got a 200 is lost, run twice, repeated without a ' +
    'mark, out of order, or buried',
  unit: 'strikes',
  sizes: { change: 12, nightly: 1_000 },
  async run(count, seed, say) {
    if (noOwnPostgres !== false) return { kind: 'skipped', why: noOwnPostgres };
    const random = seeded(seed);
    await using disk = makeDisk();
    await using server = await PostgresServer.start({ inFolder: disk.folder });
    const url = await server.newDatabase();
    await using way = await Way.to(url);
    const storage = { block: { url_env: 'LETTERS_URL' }, env: { LETTERS_URL: way.url(url) } };
    await using world = await World.open(random, 20, storage);
    world.crowd.begin(speakers);
    const figures: Record<string, number> = {};
    await using svc = await Managed.start(() =>
      spawnAfter(
        () => ranAlone(url),
        () => world.spawn(),
      ),
    );
    try {
      for (let struck = 0; struck < count; struck++) {
        way.latencyMs = latencies[Math.floor(random() * latencies.length)]!;
        await someMoment(world, svc, random);
        const strike = strikes[Math.floor(random() * strikes.length)]!;
        if (strike === 'full' && disk.fill === null) continue;
        figures[strike] = (figures[strike] ?? 0) + 1;
        if (strike === 'svc') await svc.kill();
        else await act(strike, { server, way, disk, random });
        if (struck % 20 === 19)
          say(`${struck + 1} strikes, ${world.crowd.messages.length} messages`);
      }
      way.latencyMs = 0;
      await svc.saw('"listening"');
      const audited = await world.conclude(svc.program, () => leftOn(url));
      const others = [...world.crowd.refusals.keys()].filter((status) => status !== 503);
      assert.deepEqual(others, [], 'nothing but 200 and 503 is answered');
      const starts = { 'starts without a server': svc.failedStarts };
      return { kind: 'proved', figures: { ...audited, ...figures, ...starts } };
    } catch (error) {
      const log = svc.program.log().slice(-4_000);
      throw new Error(`${(error as Error).message}\nit has written\n${log}`, { cause: error });
    }
  },
};

type Struck = {
  readonly server: PostgresServer;
  readonly way: Way;
  readonly disk: Disk;
  readonly random: () => number;
};

async function act(strike: Exclude<Strike, 'svc'>, { server, way, disk, random }: Struck) {
  switch (strike) {
    case 'server':
      await server.kill();
      await pause(random() * awayMs);
      return server.restart();
    case 'cut':
      return way.cut();
    case 'silence':
      way.hold();
      await pause(random() * silenceMsMax);
      return way.release();
    case 'full':
      disk.fill!();
      await pause(random() * fullMs);
      disk.empty();
      return until('the server answers again', () => answers(server));
  }
}

/** A full disk for its log ends the server now or later, or the server recovers by itself. */
async function answers(server: PostgresServer): Promise<boolean> {
  if (!server.isRunning) await server.restart();
  try {
    const client = await connect(server.url());
    await client.end();
    return true;
  } catch {
    return false;
  }
}

type Disk = AsyncDisposable & {
  readonly folder: string;
  /** Null: only root can make a small disk. */
  readonly fill: (() => void) | null;
  readonly empty: () => void;
};

function makeDisk(): Disk {
  const folder = mkdtempSync(join(tmpdir(), 'svc-small-disk-'));
  const ballast = join(folder, 'ballast');
  const isRoot = userInfo().uid === 0;
  const mount = (): boolean => {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMiB}m,mode=777`, 'none', folder]);
      return true;
    } catch {
      return false;
    }
  };
  const isSmall = isRoot && mount();
  return {
    folder,
    fill: isSmall
      ? () => execFileSync('sh', ['-c', 'head -c 1G /dev/zero >"$0" 2>/dev/null || :', ballast])
      : null,
    empty: () => rmSync(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      if (isSmall) execFileSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ranAlone(url: string): Promise<boolean> {
  const made = await query(url, "SELECT to_regclass('svc.inbox') IS NOT NULL AS n");
  if (made === 0) return false;
  return (await query(url, 'SELECT count(*) AS n FROM svc.inbox WHERE alone > 0')) > 0;
}

async function leftOn(url: string): Promise<Left> {
  const rows = (table: string, which: string): string =>
    `(SELECT count(*) FROM svc.${table} WHERE ${which})`;
  const dead = 'failure IS NOT NULL';
  return {
    buried: await query(url, `SELECT ${rows('message', dead)} + ${rows('sent', dead)} AS n`),
    unsettled: await query(url, `SELECT ${rows('inbox', 'true')} + ${rows('outbox', 'true')} AS n`),
  };
}

async function query(url: string, text: string): Promise<number> {
  const client = await connect(url);
  try {
    return Number((await client.query<{ n: unknown }>(text)).rows[0]?.n);
  } finally {
    await client.end();
  }
}
