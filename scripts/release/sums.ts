/**
 * `SHA256SUMS`, over every file of a release, and who vouches for it: a signature by minisign, or a
 * file `UNSIGNED`. Only a whole release of a commit is signed: beside a part that is made alone
 * lies what was made before, of whatever. The list is the last that is put there, so that one that
 * is there is never without either. https://jedisct1.github.io/minisign/
 */
import { createHash } from 'node:crypto';
import { copyFileSync, createReadStream, existsSync, lstatSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
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
  /** Of the release. */
  readonly folder: string;
  /** A folder of its own. */
  readonly scratch: string;
  readonly version: string;
  /** `null`: nobody signs it. */
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
 * @throws where it is named and nothing can be signed with it: a release that was to be signed is
 *   not to go out without it
 */
export function keyOf(env: Readonly<Record<string, string | undefined>>): Key | null {
  const { SVC_MINISIGN_KEY: file = '', SVC_MINISIGN_PASSWORD: password = '' } = env;
  if (file === '') return null;
  if (!existsSync(file)) throw new Error(`SVC_MINISIGN_KEY names ${file}, and there is no file.`);
  if (isOnPath('minisign', process.env)) return { file, password };
  throw new Error('SVC_MINISIGN_KEY names a key, and minisign is not here. Install minisign.');
}

/** @returns the names of what was made */
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
 * @returns a line for each file of a folder and those below, as `sha256sum -c` reads it
 * @throws where something is neither a file nor a folder, for a sum would not be of it
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

/** Signs it, and looks whether the signature is one. */
async function sign(file: string, key: Key, { scratch, version }: SumsOptions): Promise<void> {
  const [made, publicKey] = [join(scratch, signature), join(scratch, 'minisign.pub')];
  // It would tell the time else.
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
