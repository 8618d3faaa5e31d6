/**
 * Replaces several svc on one database one after the other while people write: by the next release,
 * whose schema has a step more, and then by this one again, on that schema.
 */
import { noPostgres } from '../fake/postgres.ts';
import { scratch } from '../support/program.ts';
import { makeNextRelease, thisRelease } from './many/releases.ts';
import { Rollout } from './many/rollout.ts';
import { seeded, type Proof } from './proof.ts';

const instances = 3;
const speakers = 5;

export const upgradeMany: Proof = {
  name: 'upgrade-many',
  title:
    'Three svc behind a balancer are replaced one by one by the next release, and again by this ' +
    'one, as asked or after SIGKILL, while people write: nothing is refused, lost, repeated ' +
    'without a mark, out of order, or buried',
  unit: 'rounds',
  sizes: { change: 1, nightly: 60 },
  async run(count, seed, say) {
    if (noPostgres !== false) return { kind: 'skipped', why: noPostgres };
    const random = seeded(seed);
    await using folder = await scratch();
    const next = makeNextRelease(folder.path);
    await using rollout = await Rollout.open(random, instances, thisRelease);
    try {
      rollout.begin(speakers);
      for (let round = 1; round <= count; round++) {
        for (const release of [next, thisRelease]) {
          for (const place of shuffled(rollout.places, random)) {
            await rollout.replace(place, release, 'terminate');
          }
        }
        const [one] = shuffled(rollout.places, random);
        for (const release of [next, thisRelease]) await rollout.replace(one!, release, 'kill');
        say(`${round} rounds`);
      }
      const audited = await rollout.conclude();
      const { terminate, kill } = rollout.replaced;
      const replaced = { 'replaced as asked': terminate, 'replaced after SIGKILL': kill };
      const slowest = { 'ms until an answer at most': rollout.slowestMs };
      return { kind: 'proved', figures: { ...audited, ...replaced, ...slowest } };
    } catch (error) {
      const message = `${(error as Error).message}\nthey have written\n${rollout.logs()}`;
      throw new Error(message, { cause: error });
    }
  },
};

function shuffled<T>(all: readonly T[], random: () => number): readonly T[] {
  return all
    .map((one) => ({ one, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
