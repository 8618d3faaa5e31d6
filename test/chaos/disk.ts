/**
 * The content of a folder after a power cut, by the log that disk.c wrote. All synced bytes are
 * there; of the rest nothing, everything, or some sectors of 512 bytes.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const headBytes = 24;
const sectorBytes = 512;
const folderNumber = 1;

type Kind = 'N' | 'W' | 'T' | 'S' | 'D' | 'U' | 'F' | 'E';

export type DiskRecord = {
  readonly kind: Kind;
  /** Unique within one process. */
  readonly file: number;
  readonly offset: number;
  readonly bytes: Buffer;
  /** The log's length with this record. */
  readonly end: number;
};

export type Fault = 'sync-eio' | 'base-sync-eio' | 'write-eio' | 'write-enospc';

/**
 * Builds the library from disk.c.
 * @returns its path, or the reason why this machine has none
 */
export function buildShim(folder: string): { readonly file: string } | { readonly why: string } {
  if (process.platform !== 'linux') return { why: 'only Linux can put a library before libc' };
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
  } catch {
    return { why: 'there is no C compiler (cc)' };
  }
  const file = join(folder, 'disk.so');
  const source = join(import.meta.dirname, 'disk.c');
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', file, source, '-ldl', '-lpthread']);
  return { file };
}

/** Reads the log as far as it is written, without an unfinished last record. */
export function readLog(file: string): readonly DiskRecord[] {
  const log = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const records: DiskRecord[] = [];
  for (let at = 0; at + headBytes <= log.length;) {
    const kind = String.fromCharCode(log.readUInt32LE(at)) as Kind;
    const length = Number(log.readBigUInt64LE(at + 16));
    const end = at + headBytes + length;
    if (end > log.length) break;
    const offset = Number(log.readBigUInt64LE(at + 8));
    const bytes = log.subarray(at + headBytes, end);
    records.push({ kind, file: log.readUInt32LE(at + 4), offset, bytes, end });
    at = end;
  }
  return records;
}

type Change =
  | { readonly kind: 'write'; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'size'; readonly size: number };

/** `lost`: a sync of it failed in this process, with bytes to sync. */
type Inode = { durable: Buffer; pending: Change[]; lost: boolean };
type Naming = { readonly name: string; readonly inode: Inode | null };
type Keep = 'nothing' | 'everything' | 'some';

/** Name → content. */
export type Image = ReadonlyMap<string, Buffer>;

/** The disk under one folder, over one process or several. */
export class Disk {
  /** Files that this process synced after a failed sync. */
  syncedAgain: string[] = [];
  #live = new Map<string, Inode>();
  #durable = new Map<string, Inode>();
  #namings: Naming[] = [];
  #numbers = new Map<number, { readonly name: string; readonly inode: Inode }>();
  #before: DiskRecord | null = null;
  readonly #normal: boolean;

  /**
   * @param files all of them safe
   * @param normal leaves out the sync that `synchronous = NORMAL` leaves out: that of the log at a
   *   commit. It keeps the two that guard a checkpoint and the log's own head.
   */
  constructor(files: Image, normal = false) {
    this.#normal = normal;
    for (const [name, durable] of files) {
      const inode = { durable, pending: [], lost: false };
      this.#live.set(name, inode);
      this.#durable.set(name, inode);
    }
  }

  /** Another process numbers the files anew. */
  nextProcess(): void {
    this.syncedAgain = [];
    for (const inode of this.#live.values()) inode.lost = false;
    this.#numbers = new Map();
    this.#before = null;
  }

  nameOf(file: number): string {
    return this.#numbers.get(file)?.name ?? '';
  }

  /**
   * @param next the record behind it, which shows the purpose of a sync
   * @param random after a failed sync a random part of its bytes is on the disk, and the system
   *   believes that all are: no later sync writes them again
   */
  play(record: DiskRecord, next: DiskRecord | undefined, random: () => number): void {
    const { kind, file, offset, bytes } = record;
    const inode = this.#numbers.get(file)?.inode;
    switch (kind) {
      case 'N':
        this.#opened(file, bytes.toString());
        break;
      case 'W':
        inode?.pending.push({ kind: 'write', offset, bytes });
        break;
      case 'T':
        inode?.pending.push({ kind: 'size', size: offset });
        break;
      case 'S':
        if (inode === undefined || this.#leavesOut(record, next)) break;
        if (inode.lost) this.syncedAgain.push(this.nameOf(file));
        inode.durable = after(inode.durable, inode.pending);
        inode.pending = [];
        break;
      case 'F':
        if (inode === undefined) break;
        inode.lost ||= inode.pending.length > 0;
        inode.durable = after(inode.durable, someOf(inode.pending, random));
        inode.pending = [];
        break;
      case 'D':
        this.#durable = new Map(this.#live);
        this.#namings = [];
        break;
      case 'U':
        this.#live.delete(bytes.toString());
        this.#namings.push({ name: bytes.toString(), inode: null });
        break;
      case 'E':
        break;
      default:
        kind satisfies never;
    }
    this.#before = record;
  }

  /** The files when the power comes back. */
  cut(keep: Keep, random: () => number): Image {
    const names = new Map(this.#durable);
    const kept = Math.floor(random() * (this.#namings.length + 1));
    const namings = { nothing: 0, everything: this.#namings.length, some: kept }[keep];
    for (const { name, inode } of this.#namings.slice(0, namings)) {
      if (inode === null) names.delete(name);
      else names.set(name, inode);
    }
    return new Map(
      Array.from(names, ([name, { durable, pending }]) => {
        if (keep === 'nothing') return [name, durable];
        return [name, after(durable, keep === 'some' ? someOf(pending, random) : pending)];
      }),
    );
  }

  #opened(file: number, name: string): void {
    let inode = this.#live.get(name);
    if (inode === undefined) {
      inode = { durable: Buffer.alloc(0), pending: [], lost: false };
      this.#live.set(name, inode);
      this.#namings.push({ name, inode });
    }
    this.#numbers.set(file, { name, inode });
  }

  #leavesOut({ file }: DiskRecord, next: DiskRecord | undefined): boolean {
    if (!this.#normal || !this.nameOf(file).endsWith('-wal')) return false;
    const before = this.#before;
    const ofHead = before?.kind === 'W' && before.offset === 0 && before.bytes.length === 32;
    const ofCheckpoint = next?.kind === 'W' && next.file !== file && next.file !== folderNumber;
    return !ofHead && !ofCheckpoint;
  }
}

/** Returns random sectors of random writes, and random changes of size, in their order. */
function someOf(changes: readonly Change[], random: () => number): readonly Change[] {
  return changes
    .flatMap((change): readonly Change[] => (change.kind === 'size' ? [change] : sectorsOf(change)))
    .filter(() => random() < 0.5);
}

function sectorsOf({ offset, bytes }: Extract<Change, { kind: 'write' }>): readonly Change[] {
  const sectors: Change[] = [];
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(bytes.length, from + sectorBytes - ((offset + from) % sectorBytes));
    sectors.push({ kind: 'write', offset: offset + from, bytes: bytes.subarray(from, to) });
    from = to;
  }
  return sectors;
}

function after(content: Buffer, changes: readonly Change[]): Buffer {
  const endOf = (change: Change): number =>
    change.kind === 'write' ? change.offset + change.bytes.length : change.size;
  const room = Math.max(content.length, ...changes.map(endOf));
  const bytes = Buffer.alloc(room);
  content.copy(bytes);
  let size = content.length;
  for (const change of changes) {
    if (change.kind === 'size') bytes.fill(0, change.size, Math.max(size, change.size));
    else change.bytes.copy(bytes, change.offset);
    size = change.kind === 'size' ? change.size : Math.max(size, endOf(change));
  }
  return bytes.subarray(0, size);
}

/** The files of a folder, except those without meaning after a cut. */
export function filesOf(folder: string): Image {
  const names = readdirSync(folder).filter((name) => !/-shm$|\.lock/.test(name));
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]));
}

/** Makes a folder hold these files and nothing else. */
export function put(image: Image, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, bytes] of image) writeFileSync(join(folder, name), bytes, { mode: 0o600 });
}
