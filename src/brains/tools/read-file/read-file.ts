/**
 * The tool `read_file`: reads a text file below one folder. The model names the file; the operator
 * sets the folder and how much of a file is read. The root may itself be a link. Its target is
 * resolved when the tool is built. A link that leads elsewhere later is refused, and so is a root
 * that was missing then.
 */
import { realpathSync } from 'node:fs';
import { lstat, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { isFileOf } from '../../../lib/database-files.ts';
import { oneText, textIn, type Tool, type ToolResult } from '../tool.ts';
import {
  folderRefusal,
  databaseRefusal,
  rootAbsent,
  rootMissing,
  rootMoved,
  openOnLinux,
  openByComparing,
  wantedPath,
  type Cage,
  type Opened,
} from './cage.ts';

export type ReadFileLimits = {
  /** Absolute. */
  readonly root: string;
  readonly bytesMax: number;
  /** A database whose files are refused, wherever they lie; null: none. */
  readonly heldDatabase?: string | null;
};

/** @param cage if left out, the strongest one that this system supports */
export function createReadFile(limits: ReadFileLimits, cage: Cage = openByPlatform): Tool {
  const { bytesMax } = limits;
  const reader = new Reader(limits, cage);
  return {
    name: 'read_file',
    description:
      'Reads a text file (UTF-8) of the one folder that may be read. ' +
      `Of a longer file only the first ${bytesMax} bytes are read.`,
    parameters: oneText('path', 'The path of the file, from that folder: notes/today.md'),
    effect: 'none',
    reachesOut: false,
    cage: `text files of one folder, ${bytesMax} bytes of each`,
    check(args) {
      const path = textIn(args, 'path');
      if (path === null || path === '') {
        return { kind: 'invalid', text: 'path must be a string that is not empty.' };
      }
      return { kind: 'ready', run: ({ signal }) => reader.read(path, signal) };
    },
  };
}

class Reader {
  readonly #limits: ReadFileLimits;
  readonly #cage: Cage;
  /** The real path of the root when the tool was built; null: there was none. */
  readonly #root: string | null;

  constructor(limits: ReadFileLimits, cage: Cage) {
    this.#limits = limits;
    this.#cage = cage;
    this.#root = realPathOf(limits.root);
  }

  async read(path: string, signal: AbortSignal): Promise<ToolResult> {
    const opened = await this.#open(path);
    if (opened.kind !== 'opened') return opened;
    const { file, size } = opened;
    try {
      return resultOf(await readBoundedText(file, this.#limits.bytesMax, signal), size);
    } catch (error) {
      if (signal.aborted) return { kind: 'failed', text: 'The file was not read: time was over.' };
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      return { kind: 'failed', text: `The file could not be read (${code}).` };
    } finally {
      await file.close();
    }
  }

  async #open(path: string): Promise<Opened> {
    const { root } = this.#limits;
    if (this.#root === null) return rootAbsent;
    const real = await realpath(root).catch(() => null);
    if (real === null) return rootMissing;
    if (real !== this.#root) return rootMoved;
    const wanted = wantedPath(path, [root, real], process.platform === 'win32');
    if (wanted.kind === 'refused') return wanted;
    if (wanted.parts.length === 0) return folderRefusal;
    if (await this.#isHeld(join(real, ...wanted.parts))) return databaseRefusal;
    return this.#cage(real, wanted.parts);
  }

  async #isHeld(path: string): Promise<boolean> {
    const { heldDatabase = null } = this.#limits;
    if (heldDatabase === null) return false;
    const stats = await lstat(path, { bigint: true }).catch(() => null);
    return stats !== null && isFileOf(heldDatabase, stats);
  }
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function resultOf(content: BoundedText, size: number): ToolResult {
  if (content.kind === 'not_text') {
    return { kind: 'refused', rule: 'not_text', text: 'That file is not UTF-8 text.' };
  }
  const { text, bytes, cut } = content;
  if (text === '') return { kind: 'done', text: '[the file is empty]', cut };
  if (!cut) return { kind: 'done', text, cut };
  const all = Math.max(size, bytes + 1);
  return { kind: 'done', text: `${text}\n[cut: the first ${bytes} of ${all} bytes]`, cut };
}

async function openByPlatform(root: string, parts: readonly string[]): Promise<Opened> {
  const opened = process.platform === 'linux' ? await openOnLinux(root, parts) : null;
  return opened ?? openByComparing(root, parts);
}

/** The text at the beginning of an open file, if it is text. */
type BoundedText =
  | { readonly kind: 'text'; readonly text: string; readonly bytes: number; readonly cut: boolean }
  | { readonly kind: 'not_text' };

const chunkBytes = 65_536;

/**
 * Reads from the beginning, at most one byte more than it returns. So a file that grows meanwhile,
 * or reports no size, makes no difference.
 * @param bytesMax of the text; it ends before a character that would be split
 * @throws the system's error of a read
 */
async function readBoundedText(
  file: FileHandle,
  bytesMax: number,
  signal: AbortSignal,
): Promise<BoundedText> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= bytesMax) {
    signal.throwIfAborted();
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, bytesMax + 1 - length));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
  }
  const bytes = Buffer.concat(chunks, Math.min(length, bytesMax));
  return asText(bytes, length > bytesMax);
}

function asText(bytes: Buffer, cut: boolean): BoundedText {
  if (bytes.includes(0)) return { kind: 'not_text' };
  try {
    // With `stream`, an incomplete character at the end is held back and causes no error.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut });
    return { kind: 'text', text, bytes: bytes.length, cut };
  } catch {
    return { kind: 'not_text' };
  }
}
