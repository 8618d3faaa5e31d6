/** The paths of the application's files and socket, by the customs of the system. */
import { createHash } from 'node:crypto';
import { homedir, tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { defaultStoragePath } from '../../src/config/inspect.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Places = {
  /** The configuration file, if the person names none. */
  readonly config: string;
  /** The shell's settings. */
  readonly settings: string;
  /** The profile of the window's browser engine; it holds no token and no text. */
  readonly profile: string;
  readonly logs: string;
  /** The folder of the socket. It goes away with the person's session. Created with mode 0700. */
  readonly runtime: string;
  /** The path of the socket, in the runtime folder; on Windows the name of a pipe. */
  readonly socket: string;
};

const socketName = 'desktop.sock';

/** The places of the user who runs this process. Creates nothing. */
export function placesOf(env: Env, platform: NodeJS.Platform = process.platform): Places {
  const own = dirname(defaultStoragePath(env, platform));
  const state = stateFolder(env, platform);
  const runtime = runtimeFolder(env, platform);
  const socket =
    platform === 'win32'
      ? String.raw`\\.\pipe\svc-desktop-${userInfo().username}`
      : join(runtime, socketName);
  return {
    config: join(own, 'svc.json'),
    settings: join(own, 'desktop.json'),
    profile: join(state, 'window'),
    logs: platform === 'darwin' ? join(homeOf(env), 'Library', 'Logs', 'svc') : join(state, 'log'),
    runtime,
    socket,
  };
}

const homeOf = (env: Env): string => env['HOME'] || homedir();

/** Format: specifications.freedesktop.org/basedir-spec, and the customs of the other systems. */
function stateFolder(env: Env, platform: NodeJS.Platform): string {
  if (platform === 'win32') {
    return join(env['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local'), 'svc');
  }
  if (platform === 'darwin') return join(homeOf(env), 'Library', 'Application Support', 'svc');
  const xdg = env['XDG_STATE_HOME'] ?? '';
  return join(xdg.startsWith('/') ? xdg : join(homeOf(env), '.local', 'state'), 'svc');
}

/** The longest path of a socket, in bytes: the smallest limit of the supported systems; unix(7). */
const socketBytesMax = 103;

/** The folder of the socket. If its path is too long for a socket, a short one replaces it. */
function runtimeFolder(env: Env, platform: NodeJS.Platform): string {
  const xdg = env['XDG_RUNTIME_DIR'] ?? '';
  const who = platform === 'win32' ? '' : `-${userInfo().uid}`;
  const usual =
    platform === 'linux' && xdg.startsWith('/')
      ? join(xdg, 'svc')
      : join(env['TMPDIR'] || tmpdir(), `svc${who}`);
  if (Buffer.byteLength(join(usual, socketName)) <= socketBytesMax) return usual;
  const named = createHash('sha256').update(usual).digest('hex').slice(0, 12);
  return join('/tmp', `svc${who}-${named}`);
}
