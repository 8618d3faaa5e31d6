/**
 * Selects the files of a checkout to publish. A working folder also holds secrets, databases and
 * drafts; none of these may get into a release.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { filesIn } from './files.ts';

/**
 * Without git, as in the build stage of packaging/Dockerfile, this pattern selects the files. It
 * accepts no hidden file, no database, and only the kinds of files that documents and examples use.
 */
const kinds = 'cfg|js|json|md|png|service|txt|ya?ml';
const publishedKinds = new RegExp(
  String.raw`^(?:[^./][^/]*\/)*(?:LICENSE|\.env\.example|[^./][^/]*\.(?:${kinds}))$`,
);

/** Whether a release without git includes the file. @param path from the root, with `/` */
export function isPublishedKind(path: string): boolean {
  return publishedKinds.test(path);
}

/**
 * Lists the files that a commit has or will have. It leaves out files that git does not know.
 * @param root of the checkout
 * @param names files and folders below it, each of which must hold a file
 * @returns paths from the root, with `/`, in order
 */
export function publishedFiles(root: string, names: readonly string[]): readonly string[] {
  const isKnown = hasGit(root);
  return names
    .flatMap((name) => {
      const found = isKnown ? trackedBelow(root, name) : plainBelow(root, name);
      if (found.length === 0) throw new Error(`nothing of ${name} can be published`);
      return found;
    })
    .sort();
}

/**
 * @returns a sentence that says why the folder's files belong to no commit; `null`: they belong to
 *   the checked-out commit
 */
export function whyOfNoCommit(root: string): string | null {
  if (!hasGit(root)) return 'There is no commit here, or no git.';
  const changed = git(root, 'status', '--porcelain', '-z').split('\0').filter(Boolean);
  const [first] = changed;
  if (first === undefined) return null;
  const others = changed.length === 1 ? '' : ` and ${changed.length - 1} more`;
  return `No commit has ${first.slice(3)}${others} as it is here.`;
}

/** Whether the folder is the root of a checkout, not a folder inside one. */
function hasGit(root: string): boolean {
  const asked = ['-C', root, 'rev-parse', '--verify', '--quiet', 'HEAD'];
  if (spawnSync('git', asked, { stdio: 'ignore', env: gitEnv() }).status !== 0) return false;
  return git(root, 'rev-parse', '--show-prefix').trim() === '';
}

function git(root: string, ...args: readonly string[]): string {
  const options = { encoding: 'utf8', maxBuffer: 1 << 26, env: gitEnv() } as const;
  return execFileSync('git', ['-C', root, ...args], options);
}

/** The environment without variables that name another checkout: git sets such for its hooks. */
export function gitEnv(): NodeJS.ProcessEnv {
  const isKept = (name: string): boolean => !/^GIT_(?!CONFIG)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isKept(name)));
}

function trackedBelow(root: string, name: string): readonly string[] {
  const tracked = git(root, 'ls-files', '-z', '--', name).split('\0').filter(Boolean);
  return tracked.filter((path) => isPlain(root, path));
}

function plainBelow(root: string, name: string): readonly string[] {
  if (!existsSync(join(root, name))) return [];
  const isFolder = lstatSync(join(root, name)).isDirectory();
  const paths = isFolder ? filesIn(join(root, name)).map((path) => join(name, path)) : [name];
  const found = paths.map((path) => path.replaceAll('\\', '/')).filter(isPublishedKind);
  return found.filter((path) => isPlain(root, path));
}

/** Whether the file exists. @throws for a link, since no commit holds the link's target */
function isPlain(root: string, path: string): boolean {
  const facts = lstatSync(join(root, path), { throwIfNoEntry: false });
  if (facts !== undefined && !facts.isFile()) throw new Error(`${path} is no plain file`);
  return facts !== undefined;
}
