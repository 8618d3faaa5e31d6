/**
 * `npm run release`: makes all published files into `release/`. `-- deb image` makes only these
 * parts, and never signs their sums. The same commit gives the same bytes every time. Prints the
 * parts that failed and ends with 1. A part that lacks tools on this machine is a failure only when
 * it was named.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyOfNoCommit } from './release/checkout.ts';
import { deb } from './release/deb.ts';
import { newFolder } from './release/files.ts';
import { image } from './release/image.ts';
import { telling } from './progress.ts';
import { stripNode } from './release/node.ts';
import { notMadeLine } from './release/not-made.ts';
import { oneFile } from './release/one-file.ts';
import type { Made, Making, Part } from './release/part.ts';
import { makeProgram } from './release/program.ts';
import { run } from './release/run.ts';
import { sbomPart } from './release/sbom.ts';
import { makeSite } from './release/site/site.ts';
import { sumsPart } from './release/sums.ts';
import { makeTarball } from './release/tarball.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'release');

const npm: Part = {
  name: 'npm',
  async make(making) {
    const files = [await making.tarball(), await making.tarballWithNode()];
    return { kind: 'made', names: files.map((file) => file.slice(making.folder.length + 1)) };
  },
};

const site: Part = {
  name: 'site',
  async make({ folder: made }) {
    await makeSite(join(made, 'site'));
    return { kind: 'made', names: ['site'] };
  },
};

/**
 * In build order. The sums cover all files of the folder: they come last, and change with any part.
 */
const parts: readonly Part[] = [npm, deb, oneFile, image, site, sbomPart, sumsPart];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0) {
  const names = parts.map(({ name }) => name).join(', ');
  console.error(`There is no part "${unknown.join('", "')}". The parts are: ${names}.`);
  process.exitCode = 2;
} else {
  process.exitCode = (await release()) ? 0 : 1;
}

/** @returns whether it made all wanted parts */
async function release(): Promise<boolean> {
  if (wanted.length === 0) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'svc-release-'));
  try {
    const why = whyOfNoCommit(root);
    if (why !== null) {
      console.error(`${why} It is made of this checkout as it is, not of a commit: UNSIGNED.`);
    }
    const making = begin(scratch, wanted.length === 0 && why === null);
    let isWhole = true;
    for (const part of parts) {
      const isWanted = wanted.length === 0 || wanted.includes(part.name) || part === sumsPart;
      if (!isWanted) continue;
      const made = await telling(() => `making the part ${part.name}`, part.make(making));
      tell(part, made);
      if (made.kind === 'not made' && wanted.length > 0) isWhole = false;
    }
    return isWhole;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function begin(scratch: string, mayBeSigned: boolean): Making {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  const built = once(async () => {
    const node = process.execPath;
    await run(node, [join(root, 'scripts', 'build.ts')], { env: { SVC_BUILD_FOLDER: undefined } });
    await run(node, [join(root, 'scripts', 'pages.ts')]);
  });
  const packed = (withNode: boolean) =>
    once(async () => {
      await built();
      const name = withNode ? 'npm-with-node' : 'npm';
      return makeTarball({ root, folder, scratch: newFolder(scratch, name), withNode });
    });
  const tarball = packed(false);
  const program = once(async () => makeProgram(await tarball(), newFolder(scratch, 'installed')));
  const node = once(async () => {
    const stripped = join(newFolder(scratch, 'node'), 'node');
    await stripNode(root, stripped);
    return stripped;
  });
  const epochS = epoch();
  return {
    root,
    folder,
    scratch,
    version,
    mayBeSigned,
    epochS,
    tarball,
    tarballWithNode: packed(true),
    program,
    node,
  };
}

/** @returns a function that works at its first call, and returns that result at every later call */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}

/** The time of the commit, or of `SOURCE_DATE_EPOCH`: reproducible-builds.org. */
function epoch(): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  const args = ['-C', root, 'log', '-1', '--format=%ct'];
  return Number(execFileSync('git', args, { encoding: 'utf8' }).trim());
}

function tell({ name }: Part, made: Made): void {
  if (made.kind === 'not made') console.log(notMadeLine(name, made.why));
  else for (const one of made.names) console.log(`${one}: ${sizeOf(join(folder, one))}`);
}

function sizeOf(path: string): string {
  const facts = statSync(path);
  return facts.isDirectory() ? 'a folder' : `${(facts.size / 1e6).toFixed(1)} MB`;
}
