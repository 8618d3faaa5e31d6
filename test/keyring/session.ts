/**
 * The secrets of a desktop's session: its own bus with a real gnome-keyring, in its own folders. It
 * does not touch the machine's session.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createClient, type MessageBus } from 'dbus-native';
import { isOnPath } from '../../src/lib/executable.ts';
import type { KeychainLimits } from '../../src/app/keychain.ts';
import { patienceMs, until } from '../support/waiting.ts';

export type Session = AsyncDisposable & {
  /** All variables of a program of this session. */
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  /** Starts the keyring and waits until it is on the bus. */
  startKeyring(how: 'unlocked' | 'locked'): Promise<Keyring>;
  /** Replaces the desktop's prompts, and refuses each. @returns the number of prompts so far */
  refusePrompts(): Promise<() => number>;
};

export type Keyring = {
  readonly pid: number;
  /** Stops it from answering until `goOn`. */
  halt(): void;
  goOn(): void;
  end(): Promise<void>;
};

const compiled = process.env['NODE_COMPILE_CACHE'];

/** Gives a working keyring all the time of a test. */
export const patient: KeychainLimits = {
  startMs: patienceMs,
  answerMs: patienceMs,
  promptMs: patienceMs,
};

/** For a halted keyring, which never answers: only its helper has to start. */
export const hasty: KeychainLimits = { ...patient, answerMs: 100, promptMs: 100 };

const programs = ['dbus-daemon', 'gnome-keyring-daemon'];

/** Why the tests with a keyring cannot run here; false: they can. */
export const noKeyring: string | false = whyNot();

/** A test with a keyring; without one it is skipped, with a note. */
export function keyringTest(name: string, act: () => Promise<void>): void {
  void test(name, { skip: noKeyring }, act);
}

function whyNot(): string | false {
  const missing = programs.filter((program) => !isOnPath(program, process.env));
  return missing.length > 0 && `there is no ${missing.join(' and no ')}: apt install gnome-keyring`;
}

/** The account of a program; default: the user who runs the tests. */
export type Account = { readonly uid: number; readonly gid: number };

/**
 * Starts no program by itself, so the test's keyring is the only one.
 * @param listen its address, as D-Bus writes it
 */
export function busConfig(listen: string): string {
  return `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>${listen}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;
}

/** @param account the session's owner; only root opens a session of another account */
export async function openSession(account: Account | null = null): Promise<Session> {
  const place = await mkdtemp(join(tmpdir(), 'svc-ring-'));
  const [home, runtime] = [join(place, 'home'), join(place, 'run')];
  await mkdir(home, { mode: 0o700 });
  await mkdir(runtime, { mode: 0o700 });
  if (account !== null) {
    for (const one of [place, home, runtime]) await chown(one, account.uid, account.gid);
  }
  const file = join(place, 'bus.conf');
  await writeFile(file, busConfig(`unix:dir=${runtime}`));
  const bus = spawn('dbus-daemon', [`--config-file=${file}`, '--nofork', '--print-address=1'], {
    ...account,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [address] = (await once(createInterface({ input: bus.stdout }), 'line')) as [string];
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_RUNTIME_DIR: runtime,
    DBUS_SESSION_BUS_ADDRESS: address,
    // Otherwise each helper would compile the program again.
    ...(account === null && compiled !== undefined && { NODE_COMPILE_CACHE: compiled }),
  };
  const daemons = new Set<ChildProcess>();
  const closing = new AsyncDisposableStack();
  return {
    env,
    home,
    async startKeyring(how) {
      const words = ['--foreground', '--components=secrets'];
      if (how === 'unlocked') words.push('--unlock');
      const daemon = spawn('gnome-keyring-daemon', words, {
        env,
        ...account,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      daemons.add(daemon);
      daemon.stdin.on('error', () => {});
      // The password of the keyring that it makes or unlocks.
      daemon.stdin.end('of the tests');
      await hasOwner(address, true);
      return {
        pid: daemon.pid!,
        halt: () => void daemon.kill('SIGSTOP'),
        goOn: () => void daemon.kill('SIGCONT'),
        async end() {
          await endOf(daemon);
          await hasOwner(address, false);
        },
      };
    },
    async refusePrompts() {
      const prompter = createClient({ busAddress: address });
      closing.defer(() => closed(prompter));
      let prompts = 0;
      prompter.connection.on('message', ({ member }: { readonly member?: string }) => {
        if (member === 'BeginPrompting') prompts++;
      });
      await prompter.requestName('org.gnome.keyring.SystemPrompter', 0);
      return () => prompts;
    },
    async [Symbol.asyncDispose]() {
      await closing.disposeAsync();
      await Promise.all([...daemons].map(endOf));
      await endOf(bus);
      await rm(place, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Waits until a program owns the name of the keyring, or none does. */
async function hasOwner(busAddress: string, wanted: boolean): Promise<void> {
  const bus = createClient({ busAddress });
  const isOwned = async (): Promise<unknown> =>
    bus.invoke<unknown>({
      destination: 'org.freedesktop.DBus',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'NameHasOwner',
      signature: 's',
      body: ['org.freedesktop.secrets'],
    });
  try {
    const what = `the keyring is on the bus: ${wanted}`;
    await until(what, async () => (await isOwned()) === wanted);
  } finally {
    await closed(bus);
  }
}

async function closed({ connection }: MessageBus): Promise<void> {
  const over = once(connection, 'close');
  connection.end();
  await over;
}
