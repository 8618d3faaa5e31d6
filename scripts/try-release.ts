/**
 * `npm run try-release`: makes a release of HEAD twice and at once, in two clean clones with
 * another folder, time zone, locale and umask each, and compares every byte. Then runs
 * test/release/ on the first one; `-- tarball` only the files with that in their name. Where
 * `SVC_RELEASE` names a release that is made already, none is made, and the tests of this checkout
 * run on it; `SVC_NOT_MADE` then says what it is without (`test/release/made.ts`). Ends with 1 when
 * a byte differs, a test failed, or something is not in the release. A part that the release said
 * it does not make, for this machine has no tools for it, is told as NOT TRIED, and is no failure.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { run as runFiles } from 'node:test';
import { spec } from 'node:test/reporters';
import { differences } from './release/compare.ts';
import { notMadeIn, notMadeLine, type NotMade } from './release/not-made.ts';
import { run } from './release/run.ts';
import { telling } from './progress.ts';

const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2);
/** Each waits for programs that start, for npm, or for a machine that boots. */
const testsAtOnce = 3;
/** Begun late, one of these would be alone at the end. */
const longest = ['deb', 'site', 'tarball', 'image'];
const rank = (file: string): number => {
  const at = longest.indexOf(basename(file, '.release.ts'));
  return at === -1 ? longest.length : at;
};

type Place = {
  /** Of the clone, below the scratch folder. */
  readonly name: string;
  readonly umask: number;
  readonly env: Readonly<Record<string, string>>;
};

/** The locales need not be installed: Node has its own, and others take the plain one. */
const places: readonly Place[] = [
  { name: 'one', umask: 0o022, env: { TZ: 'UTC', LC_ALL: 'C.UTF-8', LANG: 'C.UTF-8' } },
  {
    name: 'another/with a longer name',
    umask: 0o077,
    env: { TZ: 'Pacific/Chatham', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' },
  },
];

const given = process.env['SVC_RELEASE'];
if (given === undefined || given === '') {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-try-release-'));
  // Some of it is tried as somebody else.
  chmodSync(scratch, 0o755);
  try {
    process.exitCode = (await tryHead(scratch)) ? 0 : 1;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
} else {
  const notMade = notMadeIn(process.env['SVC_NOT_MADE'] ?? '');
  process.exitCode = (await runTests(root, resolve(given), notMade)) ? 0 : 1;
}

async function tryHead(scratch: string): Promise<boolean> {
  const making = places.map(async (place) => {
    const clone = join(scratch, place.name);
    await makeClone(clone, place);
    return makeRelease(clone, place);
  });
  // None is left behind that still writes.
  await Promise.allSettled(making);
  const all = await Promise.all(making);
  const [one, other] = places.map(({ name }) => join(scratch, name, 'release'));
  const found = differences(one!, other!);
  for (const line of found) console.log(`✖ ${line.replaceAll(`${scratch}/`, '')}`);
  if (found.length === 0) console.log('Both releases are the same, byte by byte.');
  const notMade = notMadeIn(all.join('\n'));
  const passed = await runTests(join(scratch, places[0]!.name), one!, notMade);
  for (const [part, why] of notMade) console.log(`NOT TRIED: ${part}. ${why}`);
  return passed && found.length === 0;
}

/** With what is committed alone, and the packages that are installed here. */
async function makeClone(clone: string, place: Place): Promise<void> {
  mkdirSync(join(clone, '..'), { recursive: true });
  const head = execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  await runIn(place, 'git', ['clone', '--quiet', '--no-checkout', root, clone]);
  await runIn(place, 'git', ['-C', clone, 'checkout', '--quiet', '--detach', head]);
  const [from, to] = [root, clone].map((folder) => join(folder, 'node_modules'));
  try {
    await runIn(place, 'cp', ['-al', from!, to!]);
  } catch {
    // Another file system: nothing there can be a link to here.
    rmSync(to!, { recursive: true, force: true });
    await runIn(place, 'cp', ['-a', from!, to!]);
  }
}

/** @returns what it said, which is told as well */
async function makeRelease(clone: string, place: Place): Promise<string> {
  const { name, umask, env } = place;
  console.log(`Making a release in ${env['LC_ALL']}, ${env['TZ']}, umask ${umask.toString(8)}.`);
  // A release whose bytes depend on these is another one.
  const unset = { SOURCE_DATE_EPOCH: undefined, SVC_MINISIGN_KEY: undefined };
  return runIn(place, 'npm', ['run', '-s', 'release'], {
    cwd: clone,
    env: { ...env, ...unset },
    told: (line) => console.log(`${name}: ${line}`),
  });
}

/** With the umask of that place, which is that of this process for as long as it begins another. */
function runIn(place: Place, ...how: Parameters<typeof run>): Promise<string> {
  const own = process.umask(place.umask);
  try {
    return run(...how);
  } finally {
    process.umask(own);
  }
}

/** @param checkout whose tests run @param release the folder that they try */
async function runTests(checkout: string, release: string, notMade: NotMade): Promise<boolean> {
  if (!existsSync(release)) throw new Error(`SVC_RELEASE names ${release}, and it is not there.`);
  const all = globSync('test/release/*.release.ts', { cwd: checkout }).sort();
  const files = all.filter((one) => named.length === 0 || named.some((it) => one.includes(it)));
  if (files.length === 0) throw new Error(`no test of a release is called ${named.join(' or ')}`);
  files.sort((one, other) => rank(one) - rank(other));
  Object.assign(process.env, {
    // A clone has no such folder of its own.
    SVC_DEBIAN_13: process.env['SVC_DEBIAN_13'] ?? join(root, '.tmp/debian-13'),
    SVC_RELEASE: release,
    SVC_NOT_MADE: Array.from(notMade, ([part, why]) => notMadeLine(part, why)).join('\n'),
  });
  let hasPassed = true;
  const tests = runFiles({ files, cwd: checkout, concurrency: testsAtOnce });
  tests.on('test:fail', () => (hasPassed = false));
  const told = tests.compose(new spec());
  told.pipe(process.stdout);
  await telling(() => 'trying the release', finished(told));
  return hasPassed;
}
