/**
 * Several svc on one database, behind a balancer: they are killed, paused, stopped, cut off from
 * the servers, and their clocks are wrong; the servers crash, and a standby is promoted.
 */
import { noOwnPostgres } from '../fake/postgres.ts';
import { Bots } from './many/bots.ts';
import { handover } from './many/handover.ts';
import { Strikes } from './many/strikes.ts';
import { quick, slow, Town } from './many/town.ts';
import { seeded, type Proof, type Proved } from './proof.ts';

const instances = Number(process.env['SVC_MANY'] ?? 3);
const speakers = 6;

export const many: Proof = {
  name: 'many',
  title:
    'SIGKILL, SIGTERM and SIGSTOP of several svc on one database, clocks 5 minutes off, cut and ' +
    'silent ways to the server, its crash, promotion of a standby: nothing that got a 200 is ' +
    'lost, repeated without a mark, out of order, or buried',
  unit: 'kills',
  sizes: { test: 2, change: 10, nightly: 200 },
  async run(count, seed, say) {
    if (noOwnPostgres !== false) return { kind: 'skipped', why: noOwnPostgres };
    const only = process.env['ONLY'];
    if (only === 'bots') return { kind: 'proved', figures: await moveBots(count, seed, say) };
    return { kind: 'proved', figures: await strikeFleet(count, seed, say) };
  },
};

/** While people write to a bot, whoever has it is struck, and another one goes on in its place. */
async function moveBots(count: number, seed: number, say: (line: string) => void) {
  await using bots = await Bots.open(seeded(seed), instances);
  try {
    await bots.greet();
    for (let moved = 1; moved <= count; moved++) {
      await bots.move();
      say(`bots: ${moved} moves, ${bots.talk.said.length} messages`);
    }
    return await bots.conclude();
  } catch (error) {
    const told = bots.fleet.logs();
    throw new Error(`${(error as Error).message}\nthey have written\n${told}`, { cause: error });
  }
}

async function strikeFleet(
  count: number,
  seed: number,
  say: (line: string) => void,
): Promise<Extract<Proved, { kind: 'proved' }>['figures']> {
  const random = seeded(seed);
  await using town = await Town.open(random, instances);
  const { fleet, crowd } = town;
  try {
    const longMs = count > 50 ? 60_000 : 15_000;
    const strikes = new Strikes({ town, random, longMs });
    crowd.begin(speakers);
    for (let rounds = 1; (strikes.done['kills'] ?? 0) < count; rounds++) {
      // Few: each failed try makes its conversation wait longer, and the proof with it.
      if (rounds % 10 === 0) town.receiver.script.push(503, 503);
      await strikes.round();
      say(`${strikes.done['kills']} kills, ${crowd.messages.length} messages`);
    }
    await strikes.over();
    let [deathMs, orderlyMs] = [0, 0];
    if (instances > 1) {
      town.pace = slow;
      deathMs = await handover(fleet, town.model, 'kill');
      say(`handover of one that died: ${deathMs} ms`);
      orderlyMs = await handover(fleet, town.model, 'terminate');
      say(`handover of one that was stopped: ${orderlyMs} ms`);
    }
    town.pace = quick;
    const audited = await town.conclude();
    return {
      ...audited,
      ...strikes.done,
      'taken for dead while paused': strikes.fenced,
      'ms from a death': deathMs,
      'ms from a stop': orderlyMs,
    };
  } catch (error) {
    const told = fleet.logs();
    throw new Error(`${(error as Error).message}\nthey have written\n${told}`, { cause: error });
  }
}
