/**
 * Cuts the power: svc runs on a logged disk (disk.c), is killed at a random moment, and starts on
 * the files that a cut leaves. Many more cuts of the same run are examined without a start. The
 * control is the same run with the syncs of `synchronous = NORMAL`: it must lose messages, or the
 * proof sees nothing.
 */
import assert from 'node:assert/strict';
import { Cuts } from './cuts.ts';
import { buildShim } from './disk.ts';
import { someMoment } from './moments.ts';
import { seeded, type Proof } from './proof.ts';
import { spawnPast } from './ran-alone.ts';
import { World } from './world.ts';

const speakers = 6;
const looks = 10;

export const powerCut: Proof = {
  name: 'power-cut',
  title:
    'a disk that keeps what was synced, and of the rest what it likes: every message with a 200 ' +
    'is there after the cut and is answered; with `synchronous = NORMAL` (the control) it is not',
  unit: 'cuts',
  sizes: { change: 8, nightly: 300 },
  async run(count, seed, say) {
    const random = seeded(seed);
    await using world = await World.open(random);
    const shim = buildShim(world.folder);
    if ('why' in shim) return { kind: 'skipped', ...shim };
    const cuts = new Cuts(world, shim.file, looks, random);
    world.crowd.begin(speakers);
    for (let cut = 0; cut < count; cut++) {
      await using program = await spawnPast(world.database, () => world.spawn(cuts.env()));
      // The first cut has messages to lose, so that a single cut proves something too.
      if (cut === 0) {
        await program.saw('"listening"');
        for (let i = 0; i < 10; i++) await world.crowd.next200();
      }
      await someMoment(world, program, random);
      program.child.kill('SIGKILL');
      await program.ended;
      cuts.cut(cuts.look(true).image);
      if (cut % 20 === 19) say(`${cut + 1} cuts, ${world.crowd.messages.length} messages`);
    }
    await using program = world.spawn();
    await program.saw('"listening"');
    const figures = { ...(await world.conclude(program)), ...cuts.figures };
    const { 'of them with something to lose': risky, 'lost by the control': lost } = figures;
    assert.ok(lost > risky / 2, `the control lost in ${lost} of ${risky} cuts: this sees nothing`);
    return { kind: 'proved', figures };
  },
};
