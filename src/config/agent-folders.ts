/**
 * Checks the folders that a configuration opens to its agents, on the disk: whether they exist,
 * whether they hold too much, and which of them lie outside of the configuration's folder.
 */
import { readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { BrainConfig, Config } from './config.ts';
import type { ProblemList } from './problems.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** @param folder the folder of the configuration; absolute, like the paths in `config` */
export async function checkAgentFolders(
  config: Config,
  { folder, env }: { readonly folder: string; readonly env: Env },
  problems: ProblemList,
): Promise<void> {
  for (const [index, { agent }] of config.brains.entries()) {
    const at = `brains[${index}].agent`;
    if (agent?.skillsDir) await checkSkills(agent.skillsDir, at, problems);
    if (!agent?.readFile) continue;
    const { root } = agent.readFile;
    const path = `${at}.read_file.root`;
    if (!(await isFolder(root))) {
      const message = `there is no folder ${root}: read_file reads nothing`;
      const remedy = 'Make it, or name another; a svc that runs then wants a SIGHUP.';
      problems.add('read_root_missing', path, message, remedy);
      continue;
    }
    await checkWidth(root, [folder, '/etc', env['HOME'] || homedir()], path, problems);
    await checkMounts(root, path, problems);
  }
}

async function checkSkills(skillsDir: string, at: string, problems: ProblemList): Promise<void> {
  if (await isFolder(skillsDir)) return;
  const message = `there is no folder ${skillsDir}; serve will not start without it`;
  const remedy = 'Make the folder, or remove the field.';
  problems.add('skills_missing', `${at}.skills_dir`, message, remedy);
}

/** @param sensitive folders that an agent should hardly read */
async function checkWidth(
  root: string,
  sensitive: readonly string[],
  path: string,
  problems: ProblemList,
): Promise<void> {
  const real = await realPathOf(root);
  const sensitiveReal = await Promise.all(sensitive.map(realPathOf));
  const exposed = sensitive.filter((_folder, index) => isWithin(real, sensitiveReal[index]!));
  if (exposed.length === 0) return;
  const message = `whoever talks to the agent may read all of ${exposed.join(' and ')}`;
  problems.add('read_root_wide', path, message, 'Name a folder that holds what is meant, no more.');
}

const mountsNamedMax = 3;

async function checkMounts(root: string, path: string, problems: ProblemList): Promise<void> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const mounts = mountsBelow(await realPathOf(root), table);
  if (mounts.length === 0) return;
  const more = mounts.length > mountsNamedMax ? ` and ${mounts.length - mountsNamedMax} more` : '';
  const names = `${mounts.slice(0, mountsNamedMax).join(', ')}${more}`;
  const message = `other file systems are mounted below, and are read as well: ${names}`;
  const remedy = 'Unmount what is not meant, or name another folder.';
  problems.add('read_root_mount', path, message, remedy);
}

/**
 * Lists the mount points below a folder.
 * @param root the folder's real path
 * @param table Format: /proc/<pid>/mountinfo of proc_pid_mountinfo(5). The fifth field of a line is
 *   the mount point. A blank, tab, line end or backslash in it is three octal digits.
 */
export function mountsBelow(root: string, table: string): readonly string[] {
  const points = table.split('\n').flatMap((line) => line.split(' ')[4] ?? []);
  const plain = points.map((point) =>
    point.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 8)),
    ),
  );
  return [...new Set(plain)].filter((point) => point !== root && isWithin(root, point));
}

/**
 * Finds fields of agents whose folder lies outside of the configuration's folder. A folder does not
 * count if the configuration in use has it, or a folder above it, in the same field.
 * @param used the configuration in use
 * @param folder the folder of the configuration, absolute
 * @returns paths in the configuration: `brains[0].agent.skills_dir`
 */
export async function foldersElsewhere(
  next: Pick<Config, 'brains'>,
  used: Pick<Config, 'brains'>,
  folder: string,
): Promise<readonly string[]> {
  const configFolder = await realPathOf(folder);
  const fields: string[] = [];
  for (const [name, folderOf] of folderFields) {
    const inUse = used.brains.flatMap((brain) => folderOf(brain) ?? []);
    const allowed = [configFolder, ...(await Promise.all(inUse.map(realPathOf)))];
    for (const [index, brain] of next.brains.entries()) {
      const wantedFolder = folderOf(brain);
      if (wantedFolder === null) continue;
      const real = await realPathOf(wantedFolder);
      if (allowed.some((one) => isWithin(one, real))) continue;
      fields.push(`brains[${index}].agent.${name}`);
    }
  }
  return fields;
}

const folderFields = [
  ['read_file.root', ({ agent }: BrainConfig) => agent?.readFile?.root ?? null],
  ['skills_dir', ({ agent }: BrainConfig) => agent?.skillsDir ?? null],
] as const;

/** The real path of a file or folder, which may not exist yet. */
async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const parent = dirname(path);
  return parent === path ? path : join(await realPathOf(parent), basename(path));
}

function isWithin(outer: string, inner: string): boolean {
  const relativePath = relative(outer, inner);
  return relativePath !== '..' && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath);
}

async function isFolder(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null);
  return stats?.isDirectory() === true;
}
