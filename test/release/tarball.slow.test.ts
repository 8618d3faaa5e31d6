/** The content of the package for npm: no private file of a checkout. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  gitEnv,
  isPublishedKind,
  publishedFiles,
  whyOfNoCommit,
} from '../../scripts/release/checkout.ts';
import { writeBelow } from '../../scripts/release/files.ts';
import { makeTarball } from '../../scripts/release/tarball.ts';
import { scratch } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const published = {
  LICENSE: 'a licence',
  'README.md': 'a document',
  'bin/bundled-node.js': 'const nodeMajorMin = 24;',
  'examples/many/.env.example': 'SECRET=',
  'examples/many/svc.json': '{}',
};
const built = { 'dist/main.js': '', 'dist/bundled.json': '[]', 'web/dist/live/index.html': '' };
/** Private files of a developer, which no commit contains. */
const canaries = [
  'bin/svc.db-wal',
  'examples/many/.env',
  'examples/many/.ssh/notes.md',
  'examples/svc.db',
  'examples/svc.db.bak',
];
const manifest = {
  name: '@a/package',
  version: '1.2.3',
  files: ['bin', 'dist', 'web/dist/live', 'examples', 'README.md', 'LICENSE'],
  dependencies: {},
  optionalDependencies: {},
  engines: { node: '^20.19.0 || >=22.12.0' },
};

/** A small checkout with private files. */
async function checkout({ isOfGit }: { readonly isOfGit: boolean }) {
  const place = await scratch();
  const folder = join(place.path, 'checkout');
  const lay = (files: Readonly<Record<string, string>>): void => {
    for (const [path, text] of Object.entries(files)) writeBelow(folder, path, text);
  };
  lay(published);
  lay({
    '.gitignore': 'dist\n.env\n.ssh\n*.db*\n',
    'package.json': JSON.stringify(manifest),
    'package-lock.json': JSON.stringify({ lockfileVersion: 3, packages: {} }),
  });
  const git = (...args: readonly string[]): void => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@localhost'];
    // The person's git settings, such as signing each commit, must not apply here.
    const env = { ...gitEnv(), GIT_CONFIG_GLOBAL: devNull };
    execFileSync('git', ['-C', folder, ...who, ...args], { stdio: 'pipe', env });
  };
  if (isOfGit) {
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'All of it.');
  }
  lay({ ...built, 'web/dist/bundled.json': '[]' });
  lay(Object.fromEntries(canaries.map((path) => [path, 'canary'])));
  return { ...place, folder, lay };
}

/** @returns the files of the package made from it */
async function packed(folder: string, own: string): Promise<readonly string[]> {
  const made = await makeTarball({ root: folder, folder: own, scratch: own, withNode: false });
  const listed = execFileSync('tar', ['-tzf', made], { encoding: 'utf8' }).trim().split('\n');
  return listed.map((path) => path.replace(/^package\//, '')).sort();
}

const all = [...Object.keys(published), ...Object.keys(built), 'package.json', 'THIRD-PARTY.txt'];
const expected = [...all, 'npm-shrinkwrap.json'].sort();

test('what no commit has is not in the package', async () => {
  await using place = await checkout({ isOfGit: true });
  place.lay({ 'examples/draft.md': 'canary', 'bin/mine.js': 'canary' });
  assert.deepEqual(await packed(place.folder, place.path), expected);
});

test('where there is no git, no secret and no database is in it', async () => {
  await using place = await checkout({ isOfGit: false });
  assert.deepEqual(await packed(place.folder, place.path), expected);
});

test('a package asks for the Node that runs it, not for that of the build tools', async () => {
  await using place = await checkout({ isOfGit: true });
  const asked: unknown[] = [];
  for (const withNode of [false, true]) {
    await using own = await scratch();
    const of = { root: place.folder, folder: own.path, scratch: own.path, withNode };
    const made = await makeTarball(of);
    const text = execFileSync('tar', ['-xOzf', made, 'package/package.json'], { encoding: 'utf8' });
    asked.push((JSON.parse(text) as { engines: unknown }).engines);
  }
  assert.deepEqual(asked, [{ node: '>=24' }, { node: '>=20.8' }]);
});

test('a folder that lies in another checkout is not taken for one', async () => {
  await using place = await checkout({ isOfGit: true });
  for (const path of ['inner/docs/a.md', 'inner/docs/.env']) place.lay({ [path]: 'canary' });
  assert.deepEqual(publishedFiles(join(place.folder, 'inner'), ['docs']), ['docs/a.md']);
});

test('a release without something that it names is none', async () => {
  await using place = await checkout({ isOfGit: true });
  rmSync(join(place.folder, 'README.md'));
  await assert.rejects(packed(place.folder, place.path), /nothing of README\.md can be published/);
});

test('what is of no commit is told', async () => {
  await using place = await checkout({ isOfGit: true });
  assert.equal(whyOfNoCommit(place.folder), null, 'what is ignored is in no way');
  place.lay({ LICENSE: 'another', 'examples/many/svc.json': '{ }' });
  assert.equal(whyOfNoCommit(place.folder), 'No commit has LICENSE and 1 more as it is here.');
  await using other = await checkout({ isOfGit: false });
  assert.equal(whyOfNoCommit(other.folder), 'There is no commit here, or no git.');
});

const noGit = existsSync(join(root, '.git')) ? false : 'this is no checkout';
test('both ways publish the same of this checkout', { skip: noGit }, () => {
  const files = publishedFiles(root, ['bin', 'docs', 'examples', 'README.md', 'LICENSE']);
  assert.deepEqual(
    files.filter((path) => !isPublishedKind(path)),
    [],
    'scripts/release/checkout.ts names the kinds',
  );
});
