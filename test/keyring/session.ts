/**
 * A desktop's session as far as secrets go: a bus of its own and a real gnome-keyring on it, in
 * folders of its own. Nothing of the machine's own session is reached.
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
  /** All the variables of a program of this session. */
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  /** Starts the keyring and waits until it is on the bus. */
  startKeyring(how: 'unlocked' | 'locked'): Promise<Keyring>;
  /** Stands where the desktop shows prompts, and refuses each. @returns how many were wanted */
  refusePrompts(): Promise<() => number>;
};

export type Keyring = {
  readonly pid: number;
  /** It does not answer until it goes on. */
  halt(): void;
  goOn(): void;
  end(): Promise<void>;
};

const compiled = process.env['NODE_COMPILE_CACHE'];

/** A keyring that answers has all the time of a test to do so. */
export const patient: KeychainLimits = {
  startMs: patienceMs,
  answerMs: patienceMs,
  promptMs: patienceMs,
};

/** For a keyring that is halted, and never answers: only its helper has to start. */
export const hasty: KeychainLimits = { ...patient, answerMs: 100, promptMs: 100 };

const programs = ['dbus-daemon', 'gnome-keyring-daemon'];

/** Why the tests that need a keyring cannot run here; false: they can. */
export const noKeyring: string | false = whyNot();

/** A test that needs a keyring; where there is none, it is skipped and says so. */
export function keyringTest(name: string, act: () => Promise<void>): void {
  void test(name, { skip: noKeyring }, act);
}

function whyNot(): string | false {
  const missing = programs.filter((program) => !isOnPath(program, process.env));
  return missing.length > 0 && `there is no ${missing.join(' and no ')}: apt install gnome-keyring`;
}

/** Who a program runs as; left out: who runs the tests. */
export type Account = { readonly uid: number; readonly gid: number };

/**
 * The bus starts no program by itself, so no keyring but the one of the test is ever there.
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

/** @param account whose session it is; only root opens one of another account */
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
    // Else each helper would compile the program for itself.
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
      // The password of the keyring that it makes, or unlocks.
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

/** Waits until the name of the keyring is owned, or is not. */
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
