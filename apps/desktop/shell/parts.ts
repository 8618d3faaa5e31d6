/** The parts of the shell, put together: here alone each is told of the others. */
import { join } from 'node:path';
import { systemClock } from '../../../src/lib/clock.ts';
import { isInPlace } from '../../../src/lib/exists.ts';
import { livesWith } from '../../../src/lib/is-process-alive.ts';
import { logFileIn } from '../../../src/lib/log-files.ts';
import type { Log } from '../../../src/lib/log.ts';
import { ownProgram } from '../../../src/lib/own-program.ts';
import type { ApplicationState } from '../desktop.ts';
import { openPageServer, type PageServer } from '../page/page-server.ts';
import { createRepairs } from '../repairs/make-repairs.ts';
import { displayFault } from '../window/display.ts';
import { openApplicationWindow, type OpeningWindow } from '../window/window.ts';
import { ShellApplication } from './application.ts';
import { autostartOf } from './autostart.ts';
import { CoreSupervisor } from './core-keeper.ts';
import { beginCore, type CoreProcess } from './core-process.ts';
import { createCoreRecord, type CoreRecord } from './core-record.ts';
import type { Role } from './life-cycle.ts';
import { watchSession, type SessionWatch } from './session-end.ts';
import { SettingsFile } from './settings.ts';
import type { ShellOptions } from './shell.ts';
import { WindowSupervisor } from './window-keeper.ts';

export type Deps = {
  readonly kind: 'parts';
  /** The configuration file, absolute. */
  readonly config: string;
  readonly core: CoreSupervisor;
  readonly window: WindowSupervisor;
  readonly opening: OpeningWindow;
};

/** A sentence. */
export type PartFault = { readonly kind: 'fault'; readonly message: string };

/** What is opened after those that ask for it: it is there before anything happens. */
class Later<T> {
  #value: T | null = null;

  set(value: T): void {
    this.#value = value;
  }

  get now(): T {
    if (this.#value === null) throw new Error('this part is not open yet');
    return this.#value;
  }
}

type Known = {
  readonly options: ShellOptions;
  readonly log: Log;
  readonly config: string;
  readonly settings: SettingsFile;
  readonly record: CoreRecord;
  /** Secrets that no keychain keeps: here alone, for as long as this process lives. */
  readonly inMemory: Map<string, string>;
  readonly core: Later<CoreSupervisor>;
  readonly window: Later<WindowSupervisor>;
  readonly application: Later<ShellApplication>;
  readonly server: Later<PageServer>;
};

/** Nothing of the core or the window is begun yet but the look which window there can be. */
export async function openParts(
  options: ShellOptions,
  log: Log,
  opened: AsyncDisposableStack,
): Promise<Deps | PartFault> {
  const { env, places } = options;
  const record = createCoreRecord(join(places.runtime, 'core.json'));
  const config = configOf(options, record);
  const settings = await SettingsFile.read(places.settings);
  const [application, server] = [new Later<ShellApplication>(), new Later<PageServer>()];
  const [core, window] = [new Later<CoreSupervisor>(), new Later<WindowSupervisor>()];
  const inMemory = new Map<string, string>();
  const known = {
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
  core.set(supervisorOf(known));
  const session = opened.use(sessionOf(known));
  window.set(windowOf(known, session));
  application.set(await applicationOf(known));
  const held = await serverOf(known);
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
    say: (line) => log.info('window', line),
  });
  return { kind: 'parts', config, core: core.now, window: window.now, opening };
}

function supervisorOf(known: Known): CoreSupervisor {
  const { log, config, settings, record, window, application, server } = known;
  return new CoreSupervisor({
    config,
    role: isInPlace(config) ? 'service' : 'first_run',
    begin: (role) => beginRole(role, known),
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

function sessionOf({ options, log, core }: Known): SessionWatch {
  return watchSession({
    displayFault: () => displayFault(options.env),
    onOver: (why) => {
      log.info('session_over', why);
      core.now.quit();
    },
  });
}

function windowOf(
  { log, settings, core, application, server }: Known,
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
    isSessionOver: () => session.look(),
    log,
    steady: systemClock.steady,
  });
}

function applicationOf(known: Known): Promise<ShellApplication> {
  const { options, config, core, window, settings } = known;
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
}: Known): ReturnType<typeof openPageServer> {
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

/** A core that an earlier shell left behind goes on, unless the person named another file. */
function configOf({ config, isNamed }: ShellOptions, record: CoreRecord): string {
  const before = record.read();
  return !isNamed && before !== null && livesWith(before.config, before.pid)
    ? before.config
    : config;
}

function beginRole(role: Role, { options, config, settings, log, inMemory }: Known): CoreProcess {
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

/** How the person's session starts it, in whichever folder: with what runs now, and hidden. */
function startWords(config: string, { window }: ShellOptions): readonly string[] {
  const kind = window === null ? [] : ['--window', window];
  return ['desktop', '--config', config, ...kind, '--hidden'];
}

function originOf(state: ApplicationState): readonly string[] {
  return state.at === 'serving' || state.at === 'first_run' ? [state.origin] : [];
}
