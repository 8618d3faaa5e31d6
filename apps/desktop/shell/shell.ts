/**
 * The shell: what `svc desktop` is. It becomes the one instance of this user, keeps the core and
 * the window, and ends when the person, a signal or the end of the session says so; the core is
 * then drained first.
 */
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { openLogFiles } from '../../../src/lib/log-files.ts';
import { createLog, type Log } from '../../../src/lib/log.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import type { Keychain } from '../../../src/secrets/secrets.ts';
import type { WindowKind } from '../desktop.ts';
import type { Places } from '../places.ts';
import { displayFault } from '../window/display.ts';
import { becomeInstance } from './instance.ts';
import { openParts, type Deps } from './parts.ts';
import { receive, type Guests } from './reception.ts';

export type ShellOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: Places;
  /** The configuration file, absolute. */
  readonly config: string;
  /** The person named it: a running application with another one is no answer to that. */
  readonly isNamed: boolean;
  readonly window: WindowKind | null;
  readonly isHidden: boolean;
  readonly version: string;
  readonly keychain: () => Promise<Keychain>;
  /** Is called once the application is this process. */
  readonly onFirst: () => void;
  readonly stop: AbortSignal;
  readonly abandon: AbortSignal;
};

export type ShellEnd =
  | { readonly kind: 'ended' }
  /** There is one already, which has shown its window. */
  | { readonly kind: 'shown' }
  /** There is one already, with another configuration. */
  | { readonly kind: 'other'; readonly config: string }
  /** A sentence. */
  | { readonly kind: 'fault'; readonly message: string };

const withoutDisplay =
  'Start it on a desktop; where there is none, "svc serve" is the same service without a window.';

export async function runShell(options: ShellOptions): Promise<ShellEnd> {
  const { env, places, config, isNamed, stop, onFirst } = options;
  const guests = Promise.withResolvers<Guests>();
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    // Until then nothing of it is read.
    void guests.promise.then((ready) => receive(socket, ready));
  };
  const instance = await becomeInstance(places, isNamed ? config : null, onConnection, stop);
  if (instance.kind === 'second') return instance.answer;
  if (instance.kind === 'stopped') return { kind: 'ended' };
  if (instance.kind === 'fault') return instance;
  await using opened = new AsyncDisposableStack();
  opened.defer(() => {
    instance.server.close();
    // A second start that waits for an answer sees that this one is gone.
    for (const socket of sockets) socket.destroy();
  });
  const fault = await displayFault(env);
  if (fault !== null) return { kind: 'fault', message: `${fault} ${withoutDisplay}` };
  onFirst();
  const log = openShellLog(places.logs, opened);
  const deps = await openParts(options, log, opened);
  if (deps.kind === 'fault') return deps;
  guests.resolve(guestsOf(deps));
  const end = await run(deps, options, opened);
  log.info('desktop_ended', 'The application ended.');
  await log.flush();
  return end;
}

/** Without a disk that takes it, there is no log, and all the rest. */
function openShellLog(folder: string, opened: AsyncDisposableStack): Log {
  const open = (): Writable => {
    try {
      return opened.use(openLogFiles({ folder, name: 'desktop' }));
    } catch {
      return new Writable({ write: (_part, _encoding, done) => done() });
    }
  };
  return createLog({ stream: open(), level: 'info', format: 'json' });
}

function guestsOf({ config, core, window, opening }: Deps): Guests {
  return {
    core: (hello, connection) => core.connected(hello, connection),
    window: (hello, connection) => opening.connected(hello, connection),
    start: async (named) => {
      const { at } = core.state;
      if (at === 'stopping' || at === 'stopped') return null;
      if (named !== null && named !== config) return { kind: 'other', config };
      await window.showOnce();
      return { kind: 'shown' };
    },
  };
}

/** How long a window that is just being opened may take, where it is not needed any more. */
const openingMs = 5_000;

async function run(
  { core, window, opening }: Deps,
  { isHidden, stop, abandon }: ShellOptions,
  opened: AsyncDisposableStack,
): Promise<ShellEnd> {
  const isAborted = stop.aborted;
  stop.addEventListener('abort', () => core.quit(), { once: true });
  abandon.addEventListener('abort', () => core.abandon(), { once: true });
  core.open();
  if (isAborted) core.quit();
  let end: ShellEnd = { kind: 'ended' };
  const begin = async (): Promise<void> => {
    const there = await opening.opened;
    if ('why' in there) {
      end = { kind: 'fault', message: there.why };
      return core.quit();
    }
    opened.use(there);
    if (!isHidden) await window.show();
    await window.opened(there);
  };
  const shown = begin();
  await core.over;
  await endsWithin(shown, openingMs);
  return end;
}
