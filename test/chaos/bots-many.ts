/** Three svc on one database with two bots of one platform, which move from one svc to another. */
import { noOwnPostgres } from '../fake/postgres.ts';
import { told } from './many.ts';
import { Bots } from './many/bots.ts';
import { startTwoBots } from './many/two-bots.ts';
import { seeded, type Proof } from './proof.ts';

const instances = 3;

export const botsMany: Proof = {
  name: 'bots-many',
  title:
    'Three svc on one database with two bots of one platform; the svc of a bot is killed, ' +
    'stopped or paused: nothing is lost, out of order, or answered by the wrong bot or brain, ' +
    'and no bot is polled twice',
  unit: 'moves of a bot',
  sizes: { change: 2, nightly: 40 },
  async run(count, seed, say) {
    if (noOwnPostgres !== false) return { kind: 'skipped', why: noOwnPostgres };
    await using bots = await Bots.open(seeded(seed), instances, startTwoBots);
    const figures = await told(bots.fleet, async () => {
      await bots.greet();
      for (let moved = 1; moved <= count; moved++) {
        await bots.move();
        say(`${moved} moves of a bot, ${bots.talk.said.length} messages`);
      }
      return bots.conclude();
    });
    return { kind: 'proved', figures };
  },
};
