/** Compares two folders: names, kinds, and every byte. */
import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join, relative } from 'node:path';

const chunkBytes = 1 << 20;

/** @returns a sentence for each difference, in order of the names; empty when they are the same */
export function differences(one: string, other: string): readonly string[] {
  const first = kindsIn(one);
  const second = kindsIn(other);
  const names = [...new Set([...first.keys(), ...second.keys()])].sort();
  return names.flatMap((name) => {
    const [a, b] = [first.get(name), second.get(name)];
    if (a === undefined || b === undefined) {
      return [`${name} is only in ${a === undefined ? other : one}`];
    }
    if (a !== b) return [`${name} is ${a} in ${one}, and ${b} in ${other}`];
    const at = a === 'a file' ? firstDifference(join(one, name), join(other, name)) : null;
    return at === null ? [] : [`${name} differs from byte ${at} on`];
  });
}

/** The kind of every name below a folder. */
function kindsIn(folder: string): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries.map((one) => {
      const path = join(one.parentPath, one.name);
      const link = (): string => `a link to ${readlinkSync(path)}`;
      const kind = one.isFile() ? 'a file' : one.isDirectory() ? 'a folder' : link();
      return [relative(folder, path), kind];
    }),
  );
}

/** @returns the offset of the first difference; `null` when there is none */
function firstDifference(one: string, other: string): number | null {
  const files = [one, other].map((path) => openSync(path, 'r'));
  const [a, b] = [Buffer.alloc(chunkBytes), Buffer.alloc(chunkBytes)];
  try {
    for (let at = 0; ;) {
      const read = filled(files[0]!, a);
      const readOther = filled(files[1]!, b);
      const both = Math.min(read, readOther);
      if (!a.subarray(0, both).equals(b.subarray(0, both))) {
        return at + a.subarray(0, both).findIndex((byte, index) => byte !== b[index]);
      }
      if (read !== readOther) return at + both;
      if (read < chunkBytes) return null;
      at += read;
    }
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** @returns the number of bytes read, smaller than the buffer only at the end of the file */
function filled(file: number, into: Buffer): number {
  let at = 0;
  for (;;) {
    const read = readSync(file, into, at, into.length - at, null);
    at += read;
    if (read === 0 || at === into.length) return at;
  }
}
