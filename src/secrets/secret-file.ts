/** Reads the value of a secret from a file, as Docker, Kubernetes and systemd lay them down. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

export type SecretFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  /** `what` it is instead of a file with a value: `a folder`. Nothing of its content. */
  | { readonly kind: 'unreadable'; readonly what: string };

export const secretFileBytesMax = 65_536;

/** A disk of another machine may never answer, and the wait for it cannot be called off. */
const readMs = 10_000;

/** With `O_NONBLOCK`, opening a pipe does not wait for a writer. Windows does not know the flag. */
const { O_RDONLY, O_NONBLOCK } = constants;
const flags = O_RDONLY | (O_NONBLOCK ?? 0);

/**
 * Never rejects, and takes 10 s at the most. A byte order mark is no part of the text.
 * @param path absolute
 * @param stop ends the wait for the disk
 */
export async function readSecretFile(path: string, stop?: AbortSignal): Promise<SecretFile> {
  const limit = AbortSignal.timeout(readMs);
  const signal = stop === undefined ? limit : AbortSignal.any([stop, limit]);
  const { promise: over, resolve: end } = Promise.withResolvers<SecretFile>();
  const giveUp = (): void => end(unreadable('a file that did not give its content in time'));
  if (signal.aborted) return unreadable('a file that was not waited for');
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([over, read(path)]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function read(path: string): Promise<SecretFile> {
  try {
    await using handle = await open(path, flags);
    const facts = await handle.stat();
    if (facts.isDirectory()) return unreadable('a folder');
    if (!facts.isFile()) return unreadable('a pipe or a device');
    const bytes = Buffer.alloc(secretFileBytesMax + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return secretIn(bytes.subarray(0, length));
  } catch (error) {
    return unreadBecause(error as NodeJS.ErrnoException);
  }
}

/** The same at once, of a file on a disk of this machine. */
export function readSecretFileNow(path: string): SecretFile {
  try {
    const fd = openSync(path, flags);
    try {
      if (!fstatSync(fd).isFile()) return unreadable('no plain file');
      const bytes = Buffer.alloc(secretFileBytesMax + 1);
      return secretIn(bytes.subarray(0, readSync(fd, bytes)));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return unreadBecause(error as NodeJS.ErrnoException);
  }
}

/** @throws where it is not UTF-8 */
function secretIn(bytes: Buffer): SecretFile {
  if (bytes.length > secretFileBytesMax) return unreadable('a file that has more than 64 KiB');
  return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
}

function unreadBecause({ code }: NodeJS.ErrnoException): SecretFile {
  if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
  if (code === 'EISDIR') return unreadable('a folder');
  if (code === 'ENXIO') return unreadable('a pipe or a device');
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return unreadable('a file that is not UTF-8 text');
  return unreadable(`a file that cannot be read (${code ?? 'unknown error'})`);
}

function unreadable(what: string): SecretFile {
  return { kind: 'unreadable', what };
}
