/**
 * The shell, which is the process of `svc desktop`. It becomes the one instance of this user, and
 * keeps the core and the window running. It ends when the person, a signal or the end of the
 * session says so, and drains the core first.
 */
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { openLogFiles, logFileIn } from '../../../src/lib/log-files.ts';
import { createLog, type Log } from '../../../src/lib/log.ts';
import { endsWithin } from '../../../src/lib/lifetime.ts';
import type { Keychain } from '../../../src/secrets/secrets.ts';
import type {
  WindowKind,
  ApplicationState,
  Application,
  ApplicationFacts,
  OnClose,
  SignedIn,
} from '../desktop.ts';
import type { Places } from '../places.ts';
import { displayFault } from '../window/display.ts';
import { becomeInstance, receive, type ClientHandlers } from './instance.ts';
import { join } from 'node:path';
import { systemClock } from '../../../src/lib/clock.ts';
import { pathExists } from '../../../src/lib/make-folder.ts';
import { isProcessAliveWith } from '../../../src/lib/holders.ts';
import { ownProgram } from '../../../src/lib/program.ts';
import { openPageServer, type PageServer } from '../page/page-server.ts';
import { createRepairs } from '../repairs/make-repairs.ts';
import { openApplicationWindow, type OpeningWindow } from '../window/window.ts';
import { autostartOf, type Autostart } from './autostart.ts';
import {
  CoreSupervisor,
  beginCore,
  createCoreRecord,
  type CoreProcess,
  type CoreRecord,
} from './core-supervisor.ts';
import type { Role } from './life-cycle.ts';
import { SettingsFile } from './settings.ts';
import { WindowSupervisor } from './window-supervisor.ts';

export type ShellOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: Places;
  /** The configuration file, absolute. */
  readonly config: string;
  /**
   * True: the person named the file. A running application with another file must then not answer
   * in its place.
   */
  readonly isNamed: boolean;
  readonly window: WindowKind | null;
  readonly isHidden: boolean;
  readonly version: string;
  readonly keychain: () => Promise<Keychain>;
  /** Called once this process is the application. */
  readonly onFirst: () => void;
  readonly stop: AbortSignal;
  readonly abandon: AbortSignal;
};

export type ShellEnd =
  | { readonly kind: 'ended' }
  /** The application already runs, and has shown its window. */
  | { readonly kind: 'shown' }
  /** The application already runs with another configuration. */
  | { readonly kind: 'other'; readonly config: string }
  /** `message` is a sentence. */
  | { readonly kind: 'fault'; readonly message: string };

const withoutDisplay =
  'Start it on a desktop; where there is none, "svc serve" is the same service without a window.';

export async function runShell(options: ShellOptions): Promise<ShellEnd> {
  const { env, places, config, isNamed, stop, onFirst } = options;
  const handlers = Promise.withResolvers<ClientHandlers>();
  const sockets = new Set<Socket>();
  const onConnection = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    // Nothing is read from the socket before that.
    void handlers.promise.then((ready) => receive(socket, ready));
  };
  const instance = await becomeInstance(places, isNamed ? config : null, onConnection, stop);
  if (instance.kind === 'second') return instance.answer;
  if (instance.kind === 'stopped') return { kind: 'ended' };
  if (instance.kind === 'fault') return instance;
  await using opened = new AsyncDisposableStack();
  opened.defer(() => {
    instance.server.close();
    // A second start that waits for an answer sees that this process is gone.
    for (const socket of sockets) socket.destroy();
  });
  const fault = await displayFault(env);
  if (fault !== null) return { kind: 'fault', message: `${fault} ${withoutDisplay}` };
  onFirst();
  const log = openShellLog(places.logs, opened);
  const deps = await openParts(options, log, opened);
  if (deps.kind === 'fault') return deps;
  handlers.resolve(handlersOf(deps));
  const end = await run(deps, options, opened);
  log.info('desktop_ended', 'The application ended.');
  await log.flush();
  return end;
}

/** If the log cannot be written, the shell runs without one. */
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

function handlersOf({ config, core, window, opening }: ShellParts): ClientHandlers {
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

/** How long the shell waits, at its end, for a window that is just opening. */
const openingMs = 5_000;

async function run(
  { core, window, opening }: ShellParts,
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

// The parts of the shell, put together. Only this code connects them with each other.

type ShellParts = {
  readonly kind: 'parts';
  /** The configuration file, absolute. */
  readonly config: string;
  readonly core: CoreSupervisor;
  readonly window: WindowSupervisor;
  readonly opening: OpeningWindow;
};

/** `message` is a sentence. */
type PartFault = { readonly kind: 'fault'; readonly message: string };

/** A part that is created after the parts that use it. It is set before any event happens. */
class LatePart<T> {
  #value: T | null = null;

  set(value: T): void {
    this.#value = value;
  }

  get now(): T {
    if (this.#value === null) throw new Error('this part is not open yet');
    return this.#value;
  }
}

type PartsContext = {
  readonly options: ShellOptions;
  readonly log: Log;
  readonly config: string;
  readonly settings: SettingsFile;
  readonly record: CoreRecord;
  /** Secrets that no keychain keeps. They exist only here, as long as this process lives. */
  readonly inMemory: Map<string, string>;
  readonly core: LatePart<CoreSupervisor>;
  readonly window: LatePart<WindowSupervisor>;
  readonly application: LatePart<ShellApplication>;
  readonly server: LatePart<PageServer>;
};

/**
 * Creates all parts. It starts neither core nor window, but begins to find out which window can be
 * shown.
 */
async function openParts(
  options: ShellOptions,
  log: Log,
  opened: AsyncDisposableStack,
): Promise<ShellParts | PartFault> {
  const { env, places } = options;
  const record = createCoreRecord(join(places.runtime, 'core.json'));
  const config = configOf(options, record);
  const settings = await SettingsFile.read(places.settings);
  const application = new LatePart<ShellApplication>();
  const server = new LatePart<PageServer>();
  const core = new LatePart<CoreSupervisor>();
  const window = new LatePart<WindowSupervisor>();
  const inMemory = new Map<string, string>();
  const context = {
    options,
    log,
    config,
    settings,
    record,
    inMemory,
    core,
    window,
    application,
    server,
  };
  core.set(supervisorOf(context));
  const session = opened.use(sessionOf(context));
  window.set(windowOf(context, session));
  application.set(await applicationOf(context));
  const held = await serverOf(context);
  if ('kind' in held) {
    return { kind: 'fault', message: `svc cannot listen on this machine (${held.code}).` };
  }
  server.set(opened.use(held));
  const opening = openApplicationWindow({
    env,
    places,
    origin: held.origin,
    wanted: options.window,
    isHidden: options.isHidden,
    events: window.now.events,
    log: (line) => log.info('window', line),
  });
  return { kind: 'parts', config, core: core.now, window: window.now, opening };
}

function supervisorOf(context: PartsContext): CoreSupervisor {
  const { log, config, settings, record, window, application, server } = context;
  return new CoreSupervisor({
    config,
    role: pathExists(config) ? 'service' : 'first_run',
    begin: (role) => beginRole(role, context),
    record,
    log,
    clock: systemClock,
    onState: (state) => {
      log.info('state_changed', 'The application stands otherwise.', { state: state.at });
      application.now.stateChanged();
      window.now.stateChanged();
      const port = state.at === 'serving' ? Number(new URL(state.origin).port) : 0;
      if (port !== 0 && port !== settings.now.port) void settings.change({ port });
    },
    onShowWanted: () => void window.now.show(),
    page: () => server.now.page,
    onWithdrawn: () => server.now.move(),
  });
}

function sessionOf({ options, log, core }: PartsContext): SessionWatch {
  return watchSession({
    displayFault: () => displayFault(options.env),
    onOver: (why) => {
      log.info('session_over', why);
      core.now.quit();
    },
  });
}

function windowOf(
  { log, settings, core, application, server }: PartsContext,
  session: SessionWatch,
): WindowSupervisor {
  return new WindowSupervisor({
    offer: () => server.now.offer(),
    page: () => server.now.page,
    origins: () => [server.now.origin, ...originOf(core.now.state)],
    state: () => core.now.state,
    onClose: () => settings.now.onClose,
    quit: () => core.now.quit(),
    signIn: () => application.now.signIn(server.now.page),
    isSessionOver: () => session.check(),
    log,
    steady: systemClock.steady,
  });
}

function applicationOf(context: PartsContext): Promise<ShellApplication> {
  const { options, config, core, window, settings } = context;
  const { env, places, version } = options;
  return ShellApplication.make({
    version,
    config,
    logFile: logFileIn(places.logs, 'svc'),
    core: core.now,
    window: window.now,
    settings,
    autostart: autostartOf({ env, program: ownProgram(...startWords(config, options)) }),
  });
}

function serverOf({
  options,
  log,
  core,
  application,
  inMemory,
}: PartsContext): ReturnType<typeof openPageServer> {
  const { env, keychain } = options;
  const lend = (values: ReadonlyMap<string, string>): void => {
    for (const [name, value] of values) inMemory.set(name, value);
  };
  return openPageServer({
    application: application.now,
    repairs: createRepairs({ facts: () => application.now.facts, env, keychain, lend }),
    onUsedTwice: () => core.now.withdraw(),
    onFault: (error) => log.error('fault', String(error)),
  });
}

/**
 * The configuration of a core that an earlier shell left behind, unless the person named another
 * file.
 */
function configOf({ config, isNamed }: ShellOptions, record: CoreRecord): string {
  const before = record.read();
  return !isNamed && before !== null && isProcessAliveWith(before.config, before.pid)
    ? before.config
    : config;
}

function beginRole(
  role: Role,
  { options, config, settings, log, inMemory }: PartsContext,
): CoreProcess {
  const { env, places } = options;
  const words = role === 'service' ? ['serve'] : ['internal', 'first-run'];
  return beginCore({
    program: ownProgram(...words, '--config', config),
    env,
    orders: { socket: places.socket, port: settings.now.port, logFolder: places.logs },
    inMemory,
    onLine: (line) => log.info('core_said', line),
  });
}

/**
 * The arguments with which the person's session starts the application: the current ones, and
 * `--hidden`. They do not depend on the folder.
 */
function startWords(config: string, { window }: ShellOptions): readonly string[] {
  const kind = window === null ? [] : ['--window', window];
  return ['desktop', '--config', config, ...kind, '--hidden'];
}

function originOf(state: ApplicationState): readonly string[] {
  return state.at === 'serving' || state.at === 'first_run' ? [state.origin] : [];
}

// Detects the end of the person's session if no signal reports it: the screen of the window is
// gone. One failed check does not count, since a display server may be busy.

const checkEveryMs = 5_000;
const againMs = 500;
const checksMax = 3;

type SessionWatch = Disposable & {
  /** Checks at once, after a window went away. Resolves with whether the session is over. */
  check(): Promise<boolean>;
};

type SessionOptions = {
  /** null: the screen is there; else why not. */
  readonly displayFault: () => Promise<string | null>;
  /** Called once. */
  readonly onOver: (why: string) => void;
  readonly everyMs?: number;
  readonly againMs?: number;
};

export function watchSession(options: SessionOptions): SessionWatch {
  const { onOver, everyMs = checkEveryMs, againMs: pauseMs = againMs } = options;
  let isOver = false;
  let checking: Promise<boolean> | null = null;
  const checkRepeatedly = async (): Promise<boolean> => {
    let fault = await options.displayFault();
    for (let left = checksMax - 1; left > 0 && fault !== null; left--) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      fault = await options.displayFault();
    }
    if (fault === null || isOver) return isOver;
    isOver = true;
    clearInterval(timer);
    onOver(fault);
    return true;
  };
  const check = (): Promise<boolean> => {
    checking ??= checkRepeatedly().finally(() => (checking = null));
    return checking;
  };
  const timer = setInterval(() => void check(), everyMs).unref();
  return {
    check,
    [Symbol.dispose]: () => {
      isOver = true;
      clearInterval(timer);
    },
  };
}

// The application as its page and its window see it, on top of the two supervisors.

export type ApplicationDeps = {
  readonly version: string;
  readonly config: string;
  readonly logFile: string;
  readonly core: Pick<CoreSupervisor, 'state' | 'restart' | 'quit'> & {
    readonly link: Pick<CoreSupervisor['link'], 'offer' | 'grant'>;
  };
  readonly window: Pick<WindowSupervisor, 'kind' | 'hide'>;
  readonly settings: SettingsFile;
  readonly autostart: Autostart | null;
};

export class ShellApplication implements Application {
  readonly #deps: ApplicationDeps;
  readonly #watchers = new Set<() => void>();
  #autostart: boolean | null;

  private constructor(deps: ApplicationDeps, autostart: boolean | null) {
    this.#deps = deps;
    this.#autostart = autostart;
  }

  static async make(deps: ApplicationDeps): Promise<ShellApplication> {
    return new ShellApplication(deps, (await deps.autostart?.isOn()) ?? null);
  }

  get state(): ApplicationState {
    return this.#deps.core.state;
  }

  get facts(): ApplicationFacts {
    const { version, config, logFile, window, settings } = this.#deps;
    const { onClose } = settings.now;
    return { version, config, logFile, window: window.kind, onClose, autostart: this.#autostart };
  }

  /** Called when the state of the core changed. */
  stateChanged(): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    for (const tell of watchers) tell();
  }

  changed(since: ApplicationState, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(asError(signal.reason));
    if (this.state !== since) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const aborted = (): void => {
      this.#watchers.delete(tell);
      reject(asError(signal.reason));
    };
    const tell = (): void => {
      signal.removeEventListener('abort', aborted);
      resolve();
    };
    signal.addEventListener('abort', aborted, { once: true });
    this.#watchers.add(tell);
    return promise;
  }

  async pages(signal: AbortSignal): Promise<string | null> {
    for (let { state } = this; state.at === 'starting'; { state } = this) {
      try {
        await this.changed(state, signal);
      } catch {
        return null;
      }
    }
    const { state } = this;
    if (state.at !== 'serving' && state.at !== 'first_run') return null;
    if (this.#deps.window.kind !== 'webview') return this.#deps.core.link.offer();
    return `${state.origin}/${state.at === 'serving' ? 'ui' : 'setup'}`;
  }

  /** Answers a webview's page that asks to sign in. */
  async signIn(page: string): Promise<SignedIn> {
    return { token: await this.#deps.core.link.grant(), page };
  }

  restart(): Promise<void> {
    this.#deps.core.restart();
    return Promise.resolve();
  }

  quit(): void {
    this.#deps.core.quit();
  }

  async setOnClose(onClose: OnClose): Promise<void> {
    await this.#deps.settings.change({ onClose });
  }

  async answerClosing(choice: Exclude<OnClose, 'ask'>): Promise<void> {
    await this.setOnClose(choice);
    if (choice === 'quit') this.quit();
    else await this.#deps.window.hide();
  }

  async setAutostart(on: boolean): Promise<string | null> {
    const { autostart } = this.#deps;
    if (autostart === null) return 'svc knows no way to start with the session here.';
    const fault = await autostart.set(on);
    this.#autostart = await autostart.isOn();
    return fault;
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
