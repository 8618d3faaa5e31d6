/**
 * Several svc on one database, behind a balancer: they are killed, paused, stopped, cut off from
 * the servers, and their clocks are wrong; the servers crash, and a standby is promoted. In
 * parallel, bots of two messengers move from one svc to another.
 */
import assert from 'node:assert/strict';
import { noOwnPostgres } from '../fake/postgres.ts';
import { Bots } from './many/bots.ts';
import type { Fleet } from './many/fleet.ts';
import { handover } from './many/handover.ts';
import { Strikes } from './many/strikes.ts';
import { quick, slow, Town } from './many/town.ts';
import { seeded, together, type Proof, type Proved } from './proof.ts';

const instances = 3;
const speakers = 6;
const lastingMs = {
  large: { longMs: 60_000, shortMs: 4_000 },
  // On a busy machine the last heartbeat may be some time ago.
  small: { longMs: 12_000, shortMs: 1_000 },
} as const;
/** The longest time until others work the conversations of a dead svc, and of a stopped one. */
const handoverMsMax = { kill: 12_000, terminate: 2_000 } as const;
/** This many handovers must be in time, of this many at most. */
const handoversOf = { wanted: 3, most: 6 } as const;

type Figures = Extract<Proved, { kind: 'proved' }>['figures'];
type Say = (line: string) => void;

export const many: Proof = {
  name: 'many',
  title:
    'Three svc on one database, clocks 5 minutes off: SIGKILL, SIGTERM and SIGSTOP, cut and ' +
    'silent ways to the server, its crash, promotion of a standby, bots that move: nothing is ' +
    'lost, repeated without a mark, out of order, or buried, and no bot is polled twice',
  unit: 'kills',
  sizes: { change: 6, nightly: 200 },
  async run(count, seed, say) {
    if (noOwnPostgres !== false) return { kind: 'skipped', why: noOwnPostgres };
    // Fewer, since most moves last until a death is noticed.
    const moves = isLarge(count) ? Math.ceil(count / 4) : Math.ceil(count * 0.6);
    const [struck, moved] = await together([
      () => strikeFleet(count, seed, say),
      () => moveBots(moves, seed, say),
    ]);
    return { kind: 'proved', figures: { ...struck, ...moved } };
  },
};

const isLarge = (count: number): boolean => count > 50;

/** People write to all svc during strikes; every message with a 200 is answered in order. */
async function strikeFleet(count: number, seed: number, say: Say): Promise<Figures> {
  const random = seeded(seed);
  await using town = await Town.open(random, instances);
  return await told(town.fleet, async () => {
    const lasting = isLarge(count) ? lastingMs.large : lastingMs.small;
    const strikes = new Strikes({ town, random, ...lasting });
    town.crowd.begin(speakers);
    for (let rounds = 1; (strikes.done['kills'] ?? 0) < count; rounds++) {
      // Few: each failed attempt makes its conversation wait longer, and the proof with it.
      if (rounds % 5 === 0) town.receiver.script.push(503, 503);
      await strikes.round();
      say(`${strikes.done['kills']} kills, ${town.crowd.messages.length} messages`);
    }
    await strikes.over();
    const tookMs = await handovers(town, isLarge(count));
    const audited = await town.conclude();
    return {
      ...audited,
      ...strikes.done,
      'taken for dead while paused': strikes.fenced,
      'ms until others work what a dead one had': tookMs.kill,
      'ms until others work what a stopped one had': tookMs.terminate,
    };
  });
}

/** People write to a bot; a strike hits its svc, and another one takes the bot over. */
async function moveBots(count: number, seed: number, say: Say): Promise<Figures> {
  await using bots = await Bots.open(seeded(seed), instances);
  return await told(bots.fleet, async () => {
    await bots.greet();
    for (let moved = 1; moved <= count; moved++) {
      await bots.move();
      say(`${moved} moves of a bot, ${bots.talk.said.length} messages to it`);
    }
    return bots.conclude();
  });
}

/** The milliseconds of each end; of several, the slowest of those that were in time. */
async function handovers(town: Town, isJudged: boolean) {
  town.pace = slow;
  const took = { kill: 0, terminate: 0 };
  for (const end of ['kill', 'terminate'] as const) {
    const { fleet, model } = town;
    took[end] = await (isJudged ? handoverMs(town, end) : handover(fleet, model, end));
  }
  town.pace = quick;
  return took;
}

/** A machine may be slow just then, so not all must be in time. */
async function handoverMs({ fleet, model }: Town, end: 'kill' | 'terminate'): Promise<number> {
  const { wanted, most } = handoversOf;
  const all: number[] = [];
  const inTime = (): readonly number[] => all.filter((ms) => ms <= handoverMsMax[end]);
  while (all.length < most && inTime().length < wanted) {
    all.push(await handover(fleet, model, end));
  }
  const others = `others work its conversations after ${all.join(', ')} ms`;
  assert.ok(inTime().length >= wanted, `${end}: ${others}`);
  return Math.max(...inTime());
}

/** Adds the rows and the last logs of all svc to an error of `run`. */
export async function told<T>(fleet: Fleet, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const logs = `they have written\n${fleet.logs()}`;
    const message = `${(error as Error).message}\n${await fleet.told()}\n${logs}`;
    throw new Error(message, { cause: error });
  }
}
