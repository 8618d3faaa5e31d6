/**
 * `svc desktop` in a person's session: a home, a runtime folder, a display that accepts
 * connections, and an `xdg-open` that records its arguments. It never runs as root.
 */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { freePort, scratch, secret, webhookConfig } from '../support/program.ts';
import { followed, gone, launcher, processesWith, type Run } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import { accounts, spawnAs } from './account.ts';

const nowhere = 'http://127.0.0.1:9';
export type DesktopStage = AsyncDisposable & {
  readonly folder: string;
  readonly config: string;
  readonly socket: string;
  readonly log: string;
  /** Starts `svc desktop --window browser …`. */
  start(args?: readonly string[], env?: Record<string, string>): Run;
  /** Waits for the next address that the browser should open. */
  opened(): Promise<string>;
  /** Waits for the process id of the core, different from `than`. */
  core(than?: number): Promise<number>;
  /** Ends the session, as logging out does. */
  endSession(): void;
};

export async function openStage(): Promise<DesktopStage> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await scratch()).path;
  const display = opening.use(await openDisplay());
  await writeFolders(folder);
  const [port, adminPort] = [await freePort(), await freePort()];
  const document = webhookConfig({ port, adminPort, modelUrl: nowhere, receiverUrl: nowhere });
  const config = join(folder, 'home', 'svc.json');
  await writeOwn(config, JSON.stringify({ ...document, storage: { path: 'svc.db' } }));
  const openedFile = join(folder, 'home', 'opened');
  const runtime = join(folder, 'run', 'svc');
  const runs: Run[] = [];
  let seen = 0;
  const coreNow = (): number | null => {
    try {
      const record = readFileSync(join(runtime, 'core.json'), 'utf8');
      return Number(/"pid":(\d+)/.exec(record)?.[1] ?? 0) || null;
    } catch (error) {
      // The shell removes the file when a core ends, also between a look for it and the read.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  };
  opening.defer(async () => {
    for (const { child } of runs) if (child.exitCode === null) child.kill('SIGKILL');
    for (const { ended } of runs) await ended;
    // A core without its file still writes below the home while it ends.
    for (const pid of processesWith(`HOME=${join(folder, 'home')}`)) await endIt(pid);
  });
  const stack = opening.move();
  return {
    folder,
    config,
    socket: join(runtime, 'desktop.sock'),
    log: join(folder, 'home', '.local', 'state', 'svc', 'log', 'desktop.log'),
    start: (args = ['--config', config], env = {}) => {
      const run = startDesktop(args, { ...sessionOf(folder, display.name), ...env });
      runs.push(run);
      return run;
    },
    opened: () =>
      until('the browser is given an address', () => {
        const all = existsSync(openedFile) ? readFileSync(openedFile, 'utf8').trim() : '';
        const addresses = all === '' ? [] : all.split('\n');
        return addresses[seen] === undefined ? null : addresses[seen++]!;
      }),
    core: (than = 0) => {
      return until('there is a core', () => (coreNow() === than ? null : coreNow()));
    },
    endSession: () => display.end(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function startDesktop(args: readonly string[], env: Record<string, string>): Run {
  const words = [process.execPath, launcher, 'desktop', '--window', 'browser', ...args];
  return followed(spawnAs(accounts[0]!, words, { cwd: env['HOME']!, env }));
}

async function endIt(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    return;
  }
  await gone(pid);
}

/** Without a bus, the program can neither find nor start a service of the session. */
function sessionOf(folder: string, display: string): Record<string, string> {
  return {
    HOME: join(folder, 'home'),
    XDG_RUNTIME_DIR: join(folder, 'run'),
    TMPDIR: join(folder, 'tmp'),
    PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
    DISPLAY: display,
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus',
    NODE_COMPILE_CACHE: join(folder, 'home', 'compiled'),
    WEBHOOK_SECRET: secret,
  };
}

async function writeFolders(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const name of ['home', 'run', 'tmp', 'bin']) {
    await mkdir(join(folder, name), { mode: 0o700 });
    await give(join(folder, name));
  }
  const address = String.raw`s/.*http-equiv="refresh" content="0; url=\([^"]*\)".*/\1/p`;
  const open = `#!/bin/sh\nsed -n '${address}' "$1" >> "$HOME/opened"\n`;
  await writeOwn(join(folder, 'bin', 'xdg-open'), open, 0o755);
  await writeOwn(join(folder, 'bin', 'xdg-settings'), '#!/bin/sh\necho browser.desktop\n', 0o755);
}

/** Writes a file that belongs to the person. */
export async function writeOwn(file: string, text: string, mode = 0o600): Promise<void> {
  await writeFile(file, text, { mode });
  await give(file);
}

async function give(path: string): Promise<void> {
  const { uid, gid } = accounts[0]!;
  if (process.getuid!() !== uid) await chown(path, uid, gid);
}

type Display = AsyncDisposable & { readonly name: string; end(): void };

/** A minimal X server: it accepts connections. Port 6000 + its number: X(7). */
async function openDisplay(): Promise<Display> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const end = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return {
    name: `127.0.0.1:${port - 6_000}`,
    end,
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      end();
      await closed;
    },
  };
}
