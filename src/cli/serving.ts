/**
 * Runs `svc serve` once its arguments are parsed: configuration, secrets, log, then the service.
 */
import type { Config } from '../config/config.ts';
import { faultOfNames, type OwnAddresses } from '../config/own-addresses.ts';
import type { ConfigProblem } from '../config/problems.ts';
import { namedSecrets } from '../config/secrets.ts';
import type { CoreOrders } from '../../apps/desktop/desktop.ts';
import type { ServiceCore } from '../../apps/desktop/core/service-core.ts';
import type { KeychainState } from '../domain/keychain-state.ts';
import { explainKeychain, openKeychain } from '../app/keychain.ts';
import type { Log, LogLevel } from '../lib/log.ts';
import { isTokenWanted } from '../app/admin-address.ts';
import type { Ending } from '../app/run-contract.ts';
import { endingBy, runService, configMoved } from '../app/run.ts';
import {
  createCommandLog,
  logWarnings,
  readLogLevel,
  readSecrets,
  type SecretsRead,
} from './frame/boot.ts';
import { exitCode, type Io } from './cli.ts';
import { describeChoice, useConfigFile, type ConfigFile } from './frame/config-file.ts';
import { readStart } from './frame/start-config.ts';
import { openTurnLines } from './frame/turn-lines.ts';
import { wrongUsage } from './frame/flags.ts';
import { readOwnAddresses } from './frame/service-location.ts';
import type { StartWriter } from '../app/storage.ts';
import { packageRoot, programVersion } from '../lib/program.ts';

export type ServeFlags = {
  readonly config: string | null;
  readonly 'webhook-bind': readonly string[];
  readonly 'completions-bind': string | null;
  readonly 'admin-addr': string | null;
  readonly 'log-level': string | null;
};

export type ServeSetup = {
  readonly io: Io;
  /** null: svc runs on its own, without the desktop application around it. */
  readonly orders: CoreOrders | null;
  readonly onReload: (reload: () => void) => void;
  /** A storage thread that was started early, for the code that opens the database. */
  readonly startWriter: StartWriter | undefined;
};

/** @returns the exit code */
export async function runServe(flags: ServeFlags, setup: ServeSetup): Promise<number> {
  const { io, orders } = setup;
  const level = readLogLevel(flags['log-level'], 'info');
  if ('fault' in level) return wrongUsage(io, 'serve', level.fault);
  const addresses = readOwnAddresses({
    webhook: flags['webhook-bind'],
    admin: flags['admin-addr'],
    completions: flags['completions-bind'],
  });
  if ('fault' in addresses) return wrongUsage(io, 'serve', addresses.fault);
  const file = useConfigFile(flags.config, io);
  const service = { ...setup, file, level: level.level, addresses };
  if (orders === null) return serveFrom({ ...service, core: null });
  const [{ ServiceCore: Core }, { takeInMemory }] = await loadCore();
  await using core = new Core(orders, file.path, io.stop);
  if (orders.lends) await takeInMemory(io.stdin, io.secrets, core.stop);
  return await serveFrom({ ...service, io: { ...io, stop: core.stop }, core });
}

/** Imported only inside the application, so that a service on its own loads nothing of it. */
const loadCore = () =>
  Promise.all([
    import('../../apps/desktop/core/service-core.ts'),
    import('../../apps/desktop/core/in-memory-secrets.ts'),
  ]);

type Service = ServeSetup & {
  readonly file: ConfigFile;
  readonly level: LogLevel;
  readonly addresses: OwnAddresses;
  /** null: there are no orders. */
  readonly core: ServiceCore | null;
};

/** Starts again if another configuration came into use in the database during the start. */
async function serveFrom(service: Service): Promise<number> {
  for (let startsLeft = startsMax; ; startsLeft--) {
    const code = await serveOnce(service, startsLeft > 1);
    if (code !== null) return code;
  }
}

/** The most starts in a row. Each one was overtaken by another configuration. */
const startsMax = 5;

/** @returns the exit code; null: start again, with the configuration that is now in use */
async function serveOnce(service: Service, mayAgain: boolean): Promise<number | null> {
  const { file, io, core, addresses } = service;
  const { read, name, storeProblem } = await readStart(file, io, addresses);
  if (read.kind === 'refused') {
    const fault = faultOfFlags(read.problems);
    if (fault !== null) return wrongUsage(io, 'serve', fault);
    io.stderr.write(read.report);
    await core?.stuckByConfig(read.problems);
    return exitCode.config;
  }
  const { config, inspection } = read;
  const fault = faultOfNames(config, addresses);
  if (fault !== null) return wrongUsage(io, 'serve', fault);
  const tokenWanted = isTokenWanted(config.observability, core !== null);
  const resolved = await readSecrets(config, io, { tokenWanted });
  if (io.stop.aborted) return exitCode.fine;
  if (resolved.kind === 'refused') {
    if (storeProblem !== null) return endWith(endingBy(storeProblem), service, openLog(service));
    if (name !== null) io.stderr.write(`The configuration in use is ${name}.\n`);
    return refuseSecrets(service, config, resolved);
  }
  const { secrets } = resolved;
  io.secrets.hold(resolved.found);
  const warnings = [...inspection.validation.problems, ...resolved.warnings];
  const log = openLog(service);
  log.scrub(secrets.values());
  const chosen = describeChoice(file);
  if (chosen !== null && io.stderr.isTTY !== true) log.info('config_found', chosen);
  logWarnings(log, warnings);
  using lines = io.stdout.isTTY === true ? openTurnLines(io) : null;
  const ending = await runService({
    config,
    text: inspection.text,
    file: inspection.file,
    addresses,
    env: io.env,
    lookup: io.secrets,
    keychainLimits: io.keychainLimits,
    onReload: service.onReload,
    storage: inspection.storage,
    secrets,
    warnings,
    log,
    version: programVersion(),
    webRoot: new URL('web/dist/', packageRoot()),
    stop: io.stop,
    abandon: io.abandon,
    startWriter: service.startWriter,
    onTurn: lines === null ? undefined : (turn) => lines.show(turn),
    application: core?.around ?? null,
    onListening: ({ window }) => window !== null && core?.atWork(window),
  });
  if (mayAgain && ending.kind === 'failed' && ending.code === configMoved) return null;
  return endWith(ending, service, log);
}

/** @returns a sentence if the flags are the only error; null: they are not */
function faultOfFlags(problems: readonly ConfigProblem[]): string | null {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [{ code, message, remedy } = noProblem, ...others] = errors;
  return code === 'flag_unclear' && others.length === 0 ? `${message}. ${remedy}` : null;
}

const noProblem = { code: null, message: '', remedy: '' };

async function endWith(ending: Ending, { core, io }: Service, log: Log): Promise<number> {
  await logEnding(ending, log);
  return core === null ? codeOf(ending) : reportShell(ending, core, io);
}

/** In the application the log goes to files, so that no line is lost while no shell reads it. */
function openLog({ io, level, core }: Service): Log {
  if (core === null) return createCommandLog(io, level);
  try {
    const log = core.openLog(level);
    core.logTo(log);
    return log;
  } catch (error) {
    const log = createCommandLog(io, level);
    const { message } = error as NodeJS.ErrnoException;
    log.warn('log_files', `The log cannot be kept in files: ${message}.`);
    core.logTo(log);
    return log;
  }
}

async function logEnding(ending: Ending, log: Log): Promise<void> {
  if (ending.kind === 'refused') log.error(ending.code, ending.message);
  if (ending.kind === 'failed') log.error('service_failed', ending.message);
  await log.flush();
}

function codeOf({ kind }: Ending): number {
  switch (kind) {
    case 'ended':
      return exitCode.fine;
    case 'refused':
      return exitCode.config;
    case 'failed':
      return exitCode.failed;
    default:
      return kind satisfies never;
  }
}

/**
 * If the shell received the reason, the exit code says so and the shell starts no other service.
 */
async function reportShell(ending: Ending, core: ServiceCore, io: Io): Promise<number> {
  if (ending.kind === 'ended') return exitCode.fine;
  io.stderr.write(`${ending.message}\n`);
  return (await core.stuckByEnding(ending)) ? exitCode.config : codeOf(ending);
}

async function refuseSecrets(
  { io, core }: Service,
  config: Config,
  refused: Extract<SecretsRead, { readonly kind: 'refused' }>,
): Promise<number> {
  io.stderr.write(refused.report);
  if (core === null) return exitCode.config;
  const { env, keychainLimits: limits } = io;
  const state = await openKeychain({ env, atTerminal: false, limits }).state(io.stop);
  await core.stuckBySecrets(refused, namedSecrets(config), { state, told: describeState(state) });
  return exitCode.config;
}

/** @returns sentences: why the keychain is not ready, and what to do; null: it is ready */
function describeState(state: KeychainState): string | null {
  if (state === 'ready') return null;
  const { message, remedy } = explainKeychain(state);
  return `${message} ${remedy}`;
}
