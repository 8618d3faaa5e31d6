/** Power cuts of a running svc: the length of the disk's log at every 200, and the files left. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Disk, filesOf, put, readLog, type DiskRecord, type Fault, type Image } from './disk.ts';
import type { World } from './world.ts';

/** SQLite's verdict on a database's pages, and the messages that it lost. */
type Look = { readonly whole: string; readonly lost: readonly string[] };

export class Cuts {
  readonly figures = {
    'cuts looked at': 0,
    'of them with something to lose': 0,
    'lost by the control': 0,
  };
  readonly #world: World;
  readonly #shim: string;
  readonly #looks: number;
  readonly #random: () => number;
  #disk: Disk;
  #control: Disk;
  /** Messages of earlier processes, and this one's, each with the log's length at its 200. */
  readonly #old = new Set<string>();
  readonly #new: { readonly id: string; readonly logBytes: number }[] = [];

  /** @param looks the number of cuts examined in one process's time, besides its end */
  constructor(world: World, shim: string, looks: number, random: () => number) {
    this.#looks = looks;
    this.#world = world;
    this.#shim = shim;
    this.#random = random;
    this.#disk = new Disk(filesOf(world.store));
    this.#control = new Disk(filesOf(world.store), true);
    world.crowd.onAccepted = (id) => {
      const logBytes = statSync(this.#log, { throwIfNoEntry: false })?.size ?? 0;
      this.#new.push({ id, logBytes });
    };
  }

  get #log(): string {
    return join(this.#world.folder, 'disk.log');
  }

  /** The environment of a process whose disk is logged, and may fail now and then. */
  env(failing?: { readonly fault: Fault; readonly permille: number }): Record<string, string> {
    const { store } = this.#world;
    const env = { LD_PRELOAD: this.#shim, SVC_DISK_FOLDER: store, SVC_DISK_LOG: this.#log };
    if (failing === undefined) return env;
    const seed = Math.floor(this.#random() * 1e9);
    return {
      ...env,
      SVC_DISK_FAULT: failing.fault,
      SVC_DISK_PERMILLE: String(failing.permille),
      SVC_DISK_SEED: String(seed),
    };
  }

  /**
   * Examines cuts at random times of a process that has ended.
   * @param served it listened; a process that did not has promised nothing
   * @returns the log's records, and the files after a cut at its end
   */
  look(served: boolean): { readonly records: readonly DiskRecord[]; readonly image: Image } {
    const records = readLog(this.#log);
    const random = this.#random;
    const places = new Set(
      Array.from({ length: this.#looks }, () => Math.floor(random() * records.length)),
    );
    this.#disk.nextProcess();
    this.#control.nextProcess();
    for (const [place, record] of records.entries()) {
      this.#disk.play(record, records[place + 1], random);
      this.#control.play(record, records[place + 1], random);
      if (places.has(place)) this.#lookOnce(record.end);
    }
    // SQLite writes all of the database file again before the next sync, so only the log counts.
    const again = served && this.#disk.syncedAgain.includes('svc.db-wal');
    assert.ok(!again, 'the log was synced again after a sync of it had failed');
    const image = this.#lookOnce(Infinity);
    rmSync(this.#log, { force: true });
    for (const { id } of this.#new.splice(0)) this.#old.add(id);
    return { records, image };
  }

  /** The power comes back: puts these files on the disk. */
  cut(image: Image): void {
    put(image, this.#world.store);
    this.#disk = new Disk(image);
    this.#control = new Disk(image, true);
  }

  #lookOnce(logBytes: number): Image {
    const draw = this.#random();
    const keep = draw < 0.4 ? 'nothing' : draw < 0.5 ? 'everything' : 'some';
    const image = this.#disk.cut(keep, this.#random);
    const fresh = this.#new.filter((one) => one.logBytes <= logBytes).map(({ id }) => id);
    const { whole, lost } = this.#lookInto(image, [...this.#old, ...fresh]);
    const all = this.#old.size + fresh.length;
    if (whole !== 'ok') this.#fail(image, `its database after a cut that kept ${keep}: ${whole}`);
    if (lost.length > 0) {
      this.#fail(image, `${lost.length} of ${all} messages lost in a cut that kept ${keep}`);
    }
    this.figures['cuts looked at']++;
    if (fresh.length === 0) return image;
    this.figures['of them with something to lose']++;
    // The control may end worse: a log that lost frames can spoil the database itself. With all
    // writes kept it would lose nothing, and say nothing about the proof.
    const controlKeeps = keep === 'everything' ? 'nothing' : keep;
    const control = this.#lookInto(this.#control.cut(controlKeeps, this.#random), fresh);
    if (control.whole !== 'ok' || control.lost.length > 0) {
      this.figures['lost by the control']++;
    }
    return image;
  }

  /** Keeps the files. Only svc's own disk may fail the proof, never the control. */
  #fail(image: Image, what: string): never {
    const kept = mkdtempSync(join(tmpdir(), 'svc-cut-'));
    put(image, join(kept, 'image'));
    if (existsSync(this.#log)) copyFileSync(this.#log, join(kept, 'disk.log'));
    assert.fail(`svc's own disk, not the control's: ${what} (kept in ${kept})`);
  }

  #lookInto(image: Image, ids: readonly string[]): Look {
    if (!image.has('svc.db')) return { whole: 'ok', lost: ids };
    const folder = join(this.#world.folder, 'looked-at');
    put(image, folder);
    const db = new DatabaseSync(join(folder, 'svc.db'));
    try {
      const whole = String(db.prepare('PRAGMA integrity_check').get()?.['integrity_check']);
      if (whole !== 'ok') return { whole, lost: ids };
      if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'inbox'").get() === undefined) {
        return { whole, lost: ids };
      }
      const rows = db.prepare('SELECT id FROM inbox').all();
      const there = new Set(rows.map((row) => row['id']));
      return { whole, lost: ids.filter((id) => !there.has(id)) };
    } catch (error) {
      // The file is too spoiled to answer.
      return { whole: (error as Error).message, lost: ids };
    } finally {
      db.close();
    }
  }
}
