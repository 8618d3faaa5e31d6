/**
 * `npm run try-release`: makes a release of HEAD twice at once and compares every byte. It uses two
 * clean clones with different folders, time zones, locales and umasks. Then it runs test/release/
 * on the first release; `-- tarball` selects the files with that in their name.
 *
 * If `SVC_RELEASE` names a release, the tests of this checkout run on that one. `SVC_NOT_MADE` then
 * names its missing parts (`test/release/made.ts`). Ends with 1 when a byte differs, a test failed
 * or a part is missing. A part without tools on this machine is no failure; it is printed as NOT
 * TRIED.
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
/** Each waits for starting programs, for npm, or for a booting machine. */
const testsAtOnce = 3;
/** These begin first: a long file that begins late runs alone at the end. */
const longest = ['deb', 'site', 'tarball', 'image'];
const rank = (file: string): number => {
  const at = longest.indexOf(basename(file, '.release.ts'));
  return at === -1 ? longest.length : at;
};

type Place = {
  /** The name of the clone, below the scratch folder. */
  readonly name: string;
  readonly umask: number;
  readonly env: Readonly<Record<string, string>>;
};

/** The locales need not be installed: Node has its own, and other programs fall back to C. */
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
  // Some tests read it as another user.
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
  // Wait for both, so that no process still writes.
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

/** Clones the committed files, and copies the installed packages. */
async function makeClone(clone: string, place: Place): Promise<void> {
  mkdirSync(join(clone, '..'), { recursive: true });
  const head = execFileSync('git', ['-C', root, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  await runIn(place, 'git', ['clone', '--quiet', '--no-checkout', root, clone]);
  await runIn(place, 'git', ['-C', clone, 'checkout', '--quiet', '--detach', head]);
  const [from, to] = [root, clone].map((folder) => join(folder, 'node_modules'));
  try {
    await runIn(place, 'cp', ['-al', from!, to!]);
  } catch {
    // On another file system, where nothing can be a link to this one.
    rmSync(to!, { recursive: true, force: true });
    await runIn(place, 'cp', ['-a', from!, to!]);
  }
}

/** Prints the output of the release as well. @returns the output */
async function makeRelease(clone: string, place: Place): Promise<string> {
  const { name, umask, env } = place;
  console.log(`Making a release in ${env['LC_ALL']}, ${env['TZ']}, umask ${umask.toString(8)}.`);
  // These would make a release with other bytes.
  const unset = { SOURCE_DATE_EPOCH: undefined, SVC_MINISIGN_KEY: undefined };
  return runIn(place, 'npm', ['run', '-s', 'release'], {
    cwd: clone,
    env: { ...env, ...unset },
    told: (line) => console.log(`${name}: ${line}`),
  });
}

/** Runs with the umask of that place; this process has it while it starts the child. */
function runIn(place: Place, ...how: Parameters<typeof run>): Promise<string> {
  const own = process.umask(place.umask);
  try {
    return run(...how);
  } finally {
    process.umask(own);
  }
}

/** @param checkout whose tests run @param release the folder to test */
async function runTests(checkout: string, release: string, notMade: NotMade): Promise<boolean> {
  if (!existsSync(release)) throw new Error(`SVC_RELEASE names ${release}, and it is not there.`);
  const all = globSync('test/release/*.release.ts', { cwd: checkout }).sort();
  const files = all.filter((one) => named.length === 0 || named.some((it) => one.includes(it)));
  if (files.length === 0) throw new Error(`no test of a release is called ${named.join(' or ')}`);
  files.sort((one, other) => rank(one) - rank(other));
  Object.assign(process.env, {
    // A clone has no such folder.
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
