/**
 * Cuts the power: svc runs on a disk that is written down (disk.c); at a moment it is killed, its
 * files are replaced by what a cut leaves, and it starts on those. Many more cuts of the same run
 * are looked at without a start. The control is the same run with what `synchronous = NORMAL` would
 * have synced: it must lose, or the proof sees nothing.
 */
import assert from 'node:assert/strict';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { buildShim, Disk, filesOf, put, readLog, type DiskRecord, type Image } from './disk.ts';
import { someMoment } from './moments.ts';
import { seeded, type Proof } from './proof.ts';
import { World } from './world.ts';

const speakers = 6;
/** Besides the one that it starts on. */
const looksAtARun = 10;

export const powerCut: Proof = {
  name: 'power-cut',
  title:
    'a disk that keeps what was synced, and of the rest what it likes: every message with a 200 ' +
    'is there after the cut and is answered; with `synchronous = NORMAL` (the control) it is not',
  unit: 'cuts',
  sizes: { test: 1, change: 20, nightly: 300 },
  async run(count, seed, say) {
    const random = seeded(seed);
    await using world = await World.open(random);
    const shim = buildShim(world.folder);
    if ('why' in shim) return { kind: 'skipped', ...shim };
    const cuts = new Cuts(world, random);
    world.crowd.begin(speakers);
    for (let cut = 0; cut < count; cut++) {
      await cuts.run(shim.file);
      if (cut % 20 === 19) say(`${cut + 1} cuts, ${world.crowd.messages.length} messages`);
    }
    await using program = world.spawn();
    await program.saw('"listening"');
    const figures = { ...(await world.conclude(program)), ...cuts.figures };
    const { 'cuts looked at': looks, 'of them with something to lose': risky } = figures;
    assert.ok(looks > 0 && risky > 0, 'some cut came after a 200');
    const lost = figures['lost by the control'];
    assert.ok(lost > risky / 2, `the control lost in ${lost} of ${risky} cuts: this sees nothing`);
    return { kind: 'proved', figures };
  },
};

class Cuts {
  readonly figures = {
    'cuts looked at': 0,
    'of them with something to lose': 0,
    'lost by the control': 0,
  };
  readonly #world: World;
  readonly #random: () => number;
  /** Those of the runs before, and those of this one with how long the log was. */
  readonly #old = new Set<string>();
  readonly #new: { readonly id: string; readonly logBytes: number }[] = [];

  constructor(world: World, random: () => number) {
    this.#world = world;
    this.#random = random;
    world.crowd.onAccepted = (id) => {
      const logBytes = statSync(this.#log, { throwIfNoEntry: false })?.size ?? 0;
      this.#new.push({ id, logBytes });
    };
  }

  get #log(): string {
    return join(this.#world.folder, 'disk.log');
  }

  async run(shim: string): Promise<void> {
    const { store } = this.#world;
    const before = filesOf(store);
    const env = { LD_PRELOAD: shim, SVC_DISK_FOLDER: store, SVC_DISK_LOG: this.#log };
    await using program = this.#world.spawn(env);
    await someMoment(this.#world, program, this.#random);
    program.child.kill('SIGKILL');
    await program.ended;
    const records = readLog(this.#log);
    rmSync(this.#log, { force: true });
    put(this.#replay(before, records), store);
    for (const { id } of this.#new.splice(0)) this.#old.add(id);
  }

  /** @returns what the last cut leaves */
  #replay(before: Image, records: readonly DiskRecord[]): Image {
    const random = this.#random;
    const [disk, control] = [new Disk(before), new Disk(before, true)];
    const places = new Set(
      Array.from({ length: looksAtARun }, () => Math.floor(random() * records.length)),
    );
    for (const [place, record] of records.entries()) {
      disk.play(record, records[place + 1], random);
      control.play(record, records[place + 1], random);
      if (places.has(place)) this.#look(disk, control, record.end);
    }
    return this.#look(disk, control, Infinity);
  }

  #look(disk: Disk, control: Disk, logBytes: number): Image {
    const draw = this.#random();
    const keep = draw < 0.4 ? 'nothing' : draw < 0.5 ? 'everything' : 'some';
    const image = disk.cut(keep, this.#random);
    const fresh = this.#new.filter((one) => one.logBytes <= logBytes).map(({ id }) => id);
    const lost = this.#lostIn(image, [...this.#old, ...fresh]);
    assert.deepEqual(lost, [], `of ${this.#old.size + fresh.length} messages after a cut`);
    this.figures['cuts looked at']++;
    if (fresh.length === 0) return image;
    this.figures['of them with something to lose']++;
    if (this.#lostIn(control.cut(keep, this.#random), fresh).length > 0) {
      this.figures['lost by the control']++;
    }
    return image;
  }

  #lostIn(image: Image, ids: readonly string[]): readonly string[] {
    if (!image.has('svc.db')) return ids;
    const folder = join(this.#world.folder, 'looked-at');
    put(image, folder);
    const db = new DatabaseSync(join(folder, 'svc.db'));
    try {
      const whole = db.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
      assert.equal(whole, 'ok');
      if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'inbox'").get() === undefined) {
        return ids;
      }
      const there = new Set(
        db
          .prepare('SELECT id FROM inbox')
          .all()
          .map((row) => row['id']),
      );
      return ids.filter((id) => !there.has(id));
    } finally {
      db.close();
    }
  }
}
