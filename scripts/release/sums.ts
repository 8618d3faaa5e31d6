/**
 * Writes `SHA256SUMS` over every file of a release, with a signature by minisign or a file
 * `UNSIGNED`. It signs only a whole release of a commit: beside a part made alone may lie older
 * files. The list is the last file written, so it never exists without one of the two.
 * https://jedisct1.github.io/minisign/
 */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  existsSync,
  lstatSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isOnPath } from '../../src/lib/executable.ts';
import { filesIn, newFolder } from './files.ts';
import type { Made, Making, Part } from './part.ts';
import { run } from './run.ts';

const sums = 'SHA256SUMS';
const signature = `${sums}.minisig`;
const unsigned = 'UNSIGNED';

type Key = {
  /** The file of the secret key. */
  readonly file: string;
  readonly password: string;
};

export type SumsOptions = {
  /** The folder of the release. */
  readonly folder: string;
  /** An empty folder of its own. */
  readonly scratch: string;
  readonly version: string;
  /** `null`: no signature. */
  readonly key: Key | null;
};

type SumsMaking = Pick<Making, 'folder' | 'scratch' | 'version' | 'mayBeSigned'>;

export const sumsPart = {
  name: 'sums',
  async make({ folder, scratch, version, mayBeSigned }: SumsMaking): Promise<Made> {
    const named = keyOf(process.env);
    const key = mayBeSigned ? named : null;
    const options = { folder, scratch: newFolder(scratch, 'sums'), version, key };
    return { kind: 'made', names: await makeSums(options) };
  },
} satisfies Part;

/**
 * @returns the key that `SVC_MINISIGN_KEY` and `SVC_MINISIGN_PASSWORD` name
 * @throws where the key is named but cannot sign: a release that should be signed must not go out
 *   unsigned
 */
export function keyOf(env: Readonly<Record<string, string | undefined>>): Key | null {
  const { SVC_MINISIGN_KEY: file = '', SVC_MINISIGN_PASSWORD: password = '' } = env;
  if (file === '') return null;
  if (!existsSync(file)) throw new Error(`SVC_MINISIGN_KEY names ${file}, and there is no file.`);
  if (isOnPath('minisign', process.env)) return { file, password };
  throw new Error('SVC_MINISIGN_KEY names a key, and minisign is not here. Install minisign.');
}

/** @returns the names of the new files */
export async function makeSums(options: SumsOptions): Promise<readonly string[]> {
  const { folder, scratch, key } = options;
  for (const name of [sums, signature, unsigned]) rmSync(join(folder, name), { force: true });
  const draft = join(scratch, sums);
  writeFileSync(draft, await sumsOf(folder));
  const beside = key === null ? unsigned : signature;
  if (key === null) writeFileSync(join(scratch, unsigned), unsignedText);
  else await sign(draft, key, options);
  for (const name of [beside, sums]) copyFileSync(join(scratch, name), join(folder, name));
  return [sums, beside];
}

/**
 * @returns a line for each file at any depth, as `sha256sum -c` reads it
 * @throws for an entry that is neither file nor folder, since it has no sum
 */
async function sumsOf(folder: string): Promise<string> {
  const lines: string[] = [];
  for (const path of filesIn(folder)) {
    const isPlain = lstatSync(join(folder, path)).isFile() && !/[\n\r\\]/.test(path);
    if (!isPlain) throw new Error(`${path} is no plain file.`);
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(folder, path)), hash);
    lines.push(`${hash.digest('hex')}  ${path}\n`);
  }
  return lines.join('');
}

/** Signs the file, and verifies the signature. */
async function sign(file: string, key: Key, { scratch, version }: SumsOptions): Promise<void> {
  const made = join(scratch, signature);
  const publicKey = join(scratch, 'minisign.pub');
  // minisign's own comment would contain the time.
  const comment = `${sums} of svc ${version}`;
  const input = `${key.password}\n`;
  const secret = ['-s', key.file];
  await run('minisign', ['-S', ...secret, '-m', file, '-x', made, '-t', comment], { input });
  await run('minisign', ['-R', '-f', ...secret, '-p', publicKey], { input });
  await run('minisign', ['-V', '-p', publicKey, '-m', file, '-x', made]);
}

const unsignedText = `Nobody has signed this release.

${sums} tells whether a file is whole ("sha256sum -c ${sums}"), and not who made it: whoever could
change a file could change the sums. So take these files only from where you trust the way.

To sign one, with a key of minisign, make all of it, of a commit without a change:
  SVC_MINISIGN_KEY=<the file of the secret key> npm run release
Its password, where it has one, stands in SVC_MINISIGN_PASSWORD.
`;
