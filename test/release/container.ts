/**
 * Runs an image of `docker save` much like a container engine: its own mount and process
 * namespaces, a read-only root, the image's user and environment. It uses this machine's network.
 */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../scripts/release/run.ts';
import { childrenOf } from '../support/run-svc.ts';

export type ImageConfig = {
  readonly Cmd: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly Labels: Readonly<Record<string, string>>;
  readonly StopSignal: string;
  readonly User: string;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly WorkingDir: string;
};

export type Image = {
  readonly config: ImageConfig;
  /** The folder of its files, absolute. */
  readonly root: string;
  /** Lines of `tar --list --verbose`. */
  readonly files: readonly string[];
};

/** Why no image can run here; false: it can. */
export const noContainer: string | false = whyNot();

function whyNot(): string | false {
  const probe = spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']);
  return probe.status === 0 ? false : 'NOT TRIED: the image; only root may make namespaces here.';
}

/** @param scratch an empty folder of its own */
export async function openImage(archive: string, scratch: string): Promise<Image> {
  const [saved, root] = [join(scratch, 'saved'), join(scratch, 'root')];
  mkdirSync(saved);
  mkdirSync(root, { mode: 0o755 });
  await run('tar', ['-xf', archive, '-C', saved]);
  const read = (name: string): unknown => JSON.parse(readFileSync(join(saved, name), 'utf8'));
  const [{ Config: name, Layers: layers }] = read('manifest.json') as [
    { readonly Config: string; readonly Layers: readonly string[] },
  ];
  const files: string[] = [];
  for (const layer of layers) {
    const unpacking = ['-xpvvf', join(saved, layer), '-C', root, '--numeric-owner'];
    files.push(...(await run('tar', unpacking)).trim().split('\n'));
  }
  return { config: (read(name) as { readonly config: ImageConfig }).config, root, files };
}

export type ContainerOptions = {
  /** A folder of this machine. */
  readonly folder: string;
  /** Its place in the container, which is also the working directory. */
  readonly at: string;
};

/**
 * The command before the arguments of the image's entry point. Its variables reach the program,
 * except those that the image sets.
 */
export function commandIn(image: Image, { folder, at }: ContainerOptions): readonly string[] {
  const { root, config } = image;
  const script = [
    'set -eu',
    'mount --bind "$1" "$1"',
    'mount -t proc proc "$1/proc"',
    'mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"',
    'mkdir -p "$1$3"',
    'mount --bind "$2" "$1$3"',
    'mount -o remount,bind,ro "$1"',
    'container=$1 place=$3',
    'shift 3',
    `exec ${inside(config)} unshare --root="$container" --wd="$place" ${userOf(config)} "$@"`,
  ].join('\n');
  const spaces = ['--mount', '--pid', '--fork', '--propagation=private'];
  const shell = ['sh', '-c', script, 'sh', root, folder, at];
  return ['unshare', ...spaces, ...shell, ...config.Entrypoint];
}

/** @returns the command for the image's health check, inside the container of this process */
export function healthCheckIn({ config }: Image, child: ChildProcess): readonly string[] {
  const spaces = `--target=${firstOf(child)} --mount --pid --root --wd`;
  const script = `exec ${inside(config)} nsenter ${spaces} ${userOf(config)} "$@"`;
  return ['sh', '-c', script, 'sh', ...config.Healthcheck.Test.slice(1)];
}

function inside({ Env: own }: ImageConfig): string {
  return ['env', ...own].join(' ');
}

function userOf({ User: user }: ImageConfig): string {
  const [uid = '', gid = ''] = user.split(':');
  return `--setuid=${uid} --setgid=${gid}`;
}

/** The first process of the container: its id on this machine. */
export function firstOf(child: ChildProcess): number {
  const [first] = childrenOf(child.pid!);
  if (first === undefined) throw new Error('the container has ended');
  return first;
}

/** Sends SIGTERM to the first process of the container, the program itself. */
export async function stopContainer(child: ChildProcess): Promise<void> {
  process.kill(firstOf(child), 'SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Gives a folder and its content to the user of the image. */
export function giveTo({ User: user }: ImageConfig, folder: string): void {
  const [uid, gid] = user.split(':').map(Number);
  chownSync(folder, uid!, gid!);
  for (const name of readdirSync(folder)) chownSync(join(folder, name), uid!, gid!);
}
