/**
 * What of a checkout is published. Beside the files of a commit lie those of whoever works in it:
 * secrets, databases, drafts. None of them may get into a release.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { filesIn } from './files.ts';

/**
 * Where there is no git, as in the build stage of packaging/Dockerfile, a file is told by its kind:
 * none that is hidden, no database, nothing that documents and examples are not made of.
 */
const publishedKinds =
  /^(?:[^./][^/]*\/)*(?:LICENSE|\.env\.example|[^./][^/]*\.(?:cfg|js|json|md|png|txt|ya?ml))$/;

/** Whether it is published where there is no git. @param path from the root, with `/` */
export function isPublishedKind(path: string): boolean {
  return publishedKinds.test(path);
}

/**
 * The files that a commit has or will have, as they lie there; those that git does not know are
 * not among them.
 * @param root of the checkout
 * @param names files and folders below it, each of which has to hold something
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
 * @returns why what is made of that folder is of no commit, as a sentence; `null`: it is of the
 *   commit that is checked out
 */
export function whyOfNoCommit(root: string): string | null {
  if (!hasGit(root)) return 'There is no commit here, or no git.';
  const told = git(root, 'status', '--porcelain', '-z').split('\0').filter(Boolean);
  const [first] = told;
  if (first === undefined) return null;
  const others = told.length === 1 ? '' : ` and ${told.length - 1} more`;
  return `No commit has ${first.slice(3)}${others} as it is here.`;
}

/** Whether the folder is a checkout, and not one that lies in another. */
function hasGit(root: string): boolean {
  const asked = ['-C', root, 'rev-parse', '--verify', '--quiet', 'HEAD'];
  if (spawnSync('git', asked, { stdio: 'ignore', env: gitEnv() }).status !== 0) return false;
  return git(root, 'rev-parse', '--show-prefix').trim() === '';
}

function git(root: string, ...args: readonly string[]): string {
  const options = { encoding: 'utf8', maxBuffer: 1 << 26, env: gitEnv() } as const;
  return execFileSync('git', ['-C', root, ...args], options);
}

/** Without what names another checkout: a hook of git runs with the variables of its own. */
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

/** Whether it is there. @throws where it is a link, for what that leads to is in no commit */
function isPlain(root: string, path: string): boolean {
  const facts = lstatSync(join(root, path), { throwIfNoEntry: false });
  if (facts !== undefined && !facts.isFile()) throw new Error(`${path} is no plain file`);
  return facts !== undefined;
}
