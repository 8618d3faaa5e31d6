/**
 * A machine with Debian 13 and its systemd (`scripts/debian-13-root.sh`). It shares the network of
 * the process that boots it, so it reaches a test's servers on 127.0.0.1. It loses all its changes
 * at the end.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isOnPath } from '../../src/lib/executable.ts';
import { root } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';

const debian = process.env['SVC_DEBIAN_13'] ?? join(root, '.tmp/debian-13');

/** Why there is no such machine here; null: there is one. */
export function whyNoMachine(): string | null {
  if (process.platform !== 'linux') return 'systemd is of Linux';
  if (process.getuid?.() !== 0) return 'only root may begin a machine';
  const missing = ['ip', 'unshare', 'nsenter', 'setpriv'].filter(
    (one) => !isOnPath(one, process.env),
  );
  if (missing.length > 0) return `there is no ${missing.join(' and no ')}`;
  if (groupsFolder() === null) return 'no cgroup2 is mounted';
  if (existsSync(join(debian, 'usr/lib/systemd/systemd'))) return null;
  return `there is no Debian 13 with systemd in ${debian}: scripts/debian-13-root.sh makes it`;
}

export type Said = { readonly code: number | null; readonly out: string; readonly err: string };

export interface Machine extends AsyncDisposable {
  /** A folder with the same path inside and outside. */
  readonly shared: string;
  /** Runs a command in root's shell to its end. @param input its stdin */
  run(command: string, input?: string | Buffer): Promise<Said>;
  /** The same, but fails unless it ends with 0. @returns its stdout, trimmed */
  done(command: string, input?: string | Buffer): Promise<string>;
  /** A command outside that runs this program inside as its only child. */
  inside(...command: readonly string[]): readonly string[];
}

/** The only child of a process; null: it has none yet. */
export function childOf(pid: number): number | null {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? null : Number(text.split(' ')[0]);
}

/** Boots a machine, and waits until it is up. */
export async function bootDebian(): Promise<Machine> {
  await using opening = new AsyncDisposableStack();
  // Not in /tmp, where systemd mounts another file system.
  const place = await mkdtemp('/var/tmp/svc-machine-');
  opening.defer(() => rm(place, { recursive: true, force: true, maxRetries: 20 }));
  await chmod(place, 0o755);
  const shared = join(place, 'shared');
  await mkdir(shared, { mode: 0o755 });
  const group = join(groupsFolder()!, `svc-machine-${process.pid}`);
  mkdirSync(group);
  opening.defer(() => removeGroup(group));

  const begin = 'echo $$ >"$0/cgroup.procs" && exec setpriv --pdeathsig KILL unshare "$@"';
  const spaces = ['--pid', '--mount', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child'];
  const boot = join(import.meta.dirname, 'boot-debian.sh');
  const args = ['-c', begin, group, ...spaces, 'sh', boot, debian, place, shared];
  const unshare = spawn('sh', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  unshare.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(unshare, 'exit');
  opening.defer(async () => {
    unshare.kill('SIGKILL');
    await ended;
  });

  let first: number | null = null;
  await until('the first process of the machine', async () => {
    assert.equal(unshare.exitCode, null, `the machine does not begin: ${said}`);
    first = childOf(unshare.pid!);
    return first !== null && (await readFile(`/proc/${first}/comm`, 'utf8')).trim() === 'systemd';
  });
  const machine = new Namespaces(shared, first!);
  // A missing part, such as a console, leaves it degraded. The command fails until systemd answers.
  await until('the machine to be up', async () => {
    const { out } = await machine.run('systemctl is-system-running --wait');
    return /running|degraded/.test(out);
  });
  const all = opening.move();
  return Object.assign(machine, { [Symbol.asyncDispose]: () => all.disposeAsync() });
}

class Namespaces {
  readonly shared: string;
  readonly #first: number;

  constructor(shared: string, first: number) {
    this.shared = shared;
    this.#first = first;
  }

  inside(...command: readonly string[]): readonly string[] {
    const spaces = ['--mount', '--pid', '--uts', '--ipc'];
    return ['nsenter', '--target', String(this.#first), ...spaces, '--', ...command];
  }

  async run(command: string, input: string | Buffer = ''): Promise<Said> {
    const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin';
    const env = [path, 'HOME=/root', 'LC_ALL=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive'];
    const shell = ['sh', '-c', command];
    const [program = '', ...args] = this.inside('env', '-i', ...env, ...shell);
    const child = spawn(program, args, { stdio: 'pipe', cwd: '/' });
    // A program may end without reading; its exit code and output then say why.
    child.stdin.on('error', () => {}).end(input);
    return endOf(child);
  }

  async done(command: string, input?: string | Buffer): Promise<string> {
    const { code, out, err } = await this.run(command, input);
    assert.equal(code, 0, `${command}\n${out}${err}`);
    return out.trim();
  }
}

async function endOf(child: ChildProcess): Promise<Said> {
  let [out, err] = ['', ''];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

/** The folder for groups of processes; null: there is none. */
function groupsFolder(): string | null {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const line = mounts.map((one) => one.split(' ')).find(([, , type]) => type === 'cgroup2');
  return line?.[1] ?? null;
}

/** Removes the group once it has no processes. */
async function removeGroup(group: string): Promise<void> {
  await until(`${group} to be empty`, async () => {
    return /^populated 0$/m.test(await readFile(join(group, 'cgroup.events'), 'utf8'));
  });
  const remove = (folder: string): void => {
    const below = readdirSync(folder, { withFileTypes: true });
    for (const one of below) if (one.isDirectory()) remove(join(folder, one.name));
    rmdirSync(folder);
  };
  remove(group);
}
