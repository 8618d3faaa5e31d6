/**
 * How a command reaches the ledger. With storage it reads the database itself, a file or a server,
 * whether svc runs or not. Without storage, only the running service has the data. While a service
 * owns the database, changes go through that service. Otherwise the command owns the database while
 * it works.
 */
import { audited, auditedAdmissions, noter, type LedgerWrites } from '../../app/config/audited.ts';
import { isMessenger } from '../../channels/registry.ts';
import type { Admissions } from '../../domain/gate.ts';
import { listPairings, Pairings } from '../../pipeline/pairing/pairing.ts';
import {
  isMade,
  openCursorReader,
  openReader,
  describeStorage,
  openLedger,
  type StorageAt,
  type OpenStore,
  type StoreProblem,
} from '../../app/storage.ts';
import { NotOverwritten, ReadFailed, type LedgerReader } from '../../ledger/ledger.ts';
import type { Refusal } from '../frame/boot.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { findStorage } from '../frame/find-storage.ts';
import { exitCode, type Io } from '../cli.ts';
import {
  locateServiceStrictly,
  locateService,
  whereSvcListens,
  type ServiceLocation,
} from '../frame/service-location.ts';
import { programVersion } from '../../lib/program.ts';
import { Unanswered, RemoteLedger, type Bearer } from '../frame/admin-client.ts';
import type { Config } from '../../config/config.ts';
import { createIdSource } from '../../domain/ids.ts';
import { FollowingClock } from '../../lib/clock.ts';
import type { AuditRow } from '../../domain/audit.ts';

export type LedgerLocation = Omit<ServiceLocation, 'kind' | 'storage'> & {
  /** null: there is no storage, or none is known. */
  readonly storage: StorageAt | null;
  readonly io: Io;
  /** The configuration file, as a person names it. */
  readonly file: string;
};

/**
 * For a command that reads.
 * @returns the location, or the exit code after the refusal was printed
 */
export function locateLedger(file: string | null, io: Io): Promise<LedgerLocation | number> {
  return locateBy(locateService, file, io);
}

/** The same for a command that changes or copies something. */
export function locateLedgerStrictly(
  file: string | null,
  io: Io,
): Promise<LedgerLocation | number> {
  return locateBy(locateServiceStrictly, file, io);
}

async function locateBy(
  find: typeof locateService,
  given: string | null,
  io: Io,
): Promise<LedgerLocation | number> {
  const file = useConfigFile(given, io);
  const location = await find(file, io);
  if (location.kind === 'refused') return refuse(location, io);
  const storage = await findStorage(location.storage, location.config, io);
  if (storage?.kind === 'refused') return refuse(storage, io);
  return { ...location, storage, io, file: file.name };
}

function refuse(refusal: Refusal, { stderr }: Io): number {
  stderr.write(refusal.report);
  return exitCode.config;
}

/**
 * Runs `use` with a reader of the ledger. If the command cannot read, this prints why and returns
 * 1.
 */
export function withReader(
  location: LedgerLocation,
  use: (reader: LedgerReader) => Promise<number>,
): Promise<number> {
  return reportFailures(location, async () => {
    const { storage } = location;
    if (storage === null) {
      const lacking = location.source === 'nothing' ? 'a configuration' : 'storage';
      const why = `Without ${lacking} only the running svc can tell this`;
      await using remote = await remoteAt(location, why);
      return await use(remote);
    }
    const reader = await openReader(storage);
    if ('kind' in reader) throw new Unanswered(reader.message);
    await using open = reader;
    return await use(open);
  });
}

/** Runs `use` with what a command may write; errors as in `withReader`. */
export function withWrites(
  location: LedgerLocation,
  use: (ledger: LedgerWrites) => Promise<number>,
): Promise<number> {
  return withLedger(location, ({ ledger, now }) => use(audited(ledger, now)), use);
}

/**
 * Runs `use` with the running service, for what no other process can do; errors as in `withReader`.
 */
export function withService(
  location: LedgerLocation,
  use: (service: RemoteLedger) => Promise<number>,
): Promise<number> {
  return reportFailures(location, async () => {
    await using remote = await remoteAt(location, 'Only the running svc can do this');
    return await use(remote);
  });
}

/** Runs `use` with what lets people in on messengers; errors as in `withReader`. */
export function withAdmissions(
  location: LedgerLocation,
  use: (admissions: Admissions) => Promise<number>,
): Promise<number> {
  const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
  const admissionsOf = ({ ledger, now }: OwnLedger): Admissions => {
    const pairings = new Pairings(ledger, now, random);
    pairings.use(messengersOf(location));
    return auditedAdmissions(ledger, pairings, now);
  };
  return withLedger(location, (store) => use(admissionsOf(store)), use);
}

/** Runs `use` with the list of the people who were let in; errors as in `withReader`. */
export function withPairings(
  location: LedgerLocation,
  use: (admissions: Pick<Admissions, 'list'>) => Promise<number>,
): Promise<number> {
  return reportFailures(location, async () => {
    const { storage } = location;
    if (storage === null) {
      await using remote = await remoteAt(
        location,
        'Without storage only the running svc can tell this',
      );
      return await use(remote);
    }
    const cursors = await openCursorReader(storage);
    if ('kind' in cursors) throw new Unanswered(cursors.message);
    using open = cursors;
    return await use({ list: () => listPairings(open, messengersOf(location), Date.now) });
  });
}

/** The registered names. */
function messengersOf({ config }: LedgerLocation): readonly string[] {
  return config.channels.filter(isMessenger).map(({ name }) => name);
}

/** Uses the ledger itself if no service owns it, else the service that owns it. */
function withLedger(
  location: LedgerLocation,
  useStore: (store: OwnLedger) => Promise<number>,
  useRemote: (remote: RemoteLedger) => Promise<number>,
): Promise<number> {
  return reportFailures(location, async () => {
    const { storage, config } = location;
    if (storage !== null) {
      const storageName = await describeStorage(storage);
      await assertExists(storage, storageName);
      let failed: unknown = null;
      const store = await openOwnLedger(config, storage, (error) => (failed = error));
      if (!('kind' in store)) {
        await using _reader = store.reader;
        await using _ledger = store.ledger;
        const code = await useStore(store).catch((error: unknown) => {
          if (failed === null) throw error;
          return exitCode.failed;
        });
        if (failed === null) return code;
        throw new Unanswered(`The ${storageName} could not be written.`);
      }
      if (store.code !== 'storage_locked') throw new Unanswered(store.message);
    }
    const why =
      storage === null
        ? 'Without storage only the running svc can do this'
        : 'While svc runs, only it can write to its database';
    await using remote = await remoteAt(location, why);
    return await useRemote(remote);
  });
}

async function assertExists(storage: StorageAt, storageName: string): Promise<void> {
  const exists = await isMade(storage);
  if (exists === true) return;
  if (exists !== false) throw new Unanswered(exists.message);
  if (storage.kind === 'file')
    throw new Unanswered(`There is no ${storageName} yet: svc makes it.`);
  throw new Unanswered(`The ${storageName} has no tables of svc yet: svc makes them.`);
}

async function reportFailures({ io }: LedgerLocation, act: () => Promise<number>): Promise<number> {
  try {
    return await act();
  } catch (error) {
    const isForPerson =
      error instanceof Unanswered || error instanceof ReadFailed || error instanceof NotOverwritten;
    if (!isForPerson) throw error;
    io.stderr.write(`${error.message}\n`);
    return exitCode.failed;
  }
}

/** @param why the beginning of a sentence that goes on with what is missing */
async function remoteAt(location: LedgerLocation, why: string): Promise<RemoteLedger> {
  const address = await whereSvcListens(location.addresses, location.io);
  if (address === null) {
    throw new Unanswered(
      `${why}, and its admin server is switched off: ` +
        `take "enabled": false out of observability in ${location.file} and start svc again.`,
    );
  }
  return new RemoteLedger({
    address,
    bearer: await bearerOf(location, why),
    version: programVersion(),
    stop: location.io.stop,
  });
}

async function bearerOf(
  { config, source, file, io }: LedgerLocation,
  why: string,
): Promise<Bearer> {
  if (source === 'nothing') {
    const message = `${why}, and only for who has its admin token: mend ${file}, which names it.`;
    return { kind: 'none', message };
  }
  const variable = config.admin?.tokenEnv;
  if (variable === undefined) {
    const block = '"admin": {"token_env": "ADMIN_TOKEN"}';
    const message =
      `${why}, and only for who has its admin token: add ${block} to ${file}, ` +
      'set that variable for the service and here, and start svc again.';
    return { kind: 'none', message };
  }
  const secret = (await io.secrets.find([variable], io.stop)).get(variable);
  const token = secret?.kind === 'value' ? secret.value.trim() : undefined;
  if (token !== undefined) return { kind: 'token', variable, token };
  const remedy =
    secret?.kind === 'unreadable'
      ? `${secret.message}. ${secret.remedy}`
      : `set ${variable} here to what the service was started with.`;
  const message = `${why}, and only for who has its admin token: ${remedy}`;
  return { kind: 'none', message };
}

/** A database that a command opened. The command owns it until it closes it. */
type OwnLedger = OpenStore & {
  /** The time of day in milliseconds since 1970. A database on a server has the server's time. */
  readonly now: () => number;
};

/** @param failed is called if the storage fails later */
export async function openOwnLedger(
  config: Config,
  at: StorageAt,
  failed: (error: unknown) => void,
): Promise<OwnLedger | StoreProblem> {
  const clock = new FollowingClock();
  const { now, steady } = clock;
  const store = await openLedger({
    storage: config.storage,
    at,
    version: programVersion(),
    publicNow: null,
    ids: createIdSource(now, (bytes) => void crypto.getRandomValues(bytes)),
    now,
    steady,
    follow: (answer) => void clock.follow(answer),
    failed,
    news: {},
  });
  return 'kind' in store ? store : { ...store, now };
}

/**
 * Adds a row to the audit for a change that a command made outside the ledger. An unavailable
 * database does not prevent the change; the caller warns.
 * @returns whether there is a row; null: there is no database for it
 */
export async function addAuditRow(
  config: Config,
  at: StorageAt | null,
  row: Omit<AuditRow, 'at'>,
): Promise<boolean | null> {
  if (at === null) return null;
  let failed = false;
  try {
    const exists = await isMade(at);
    if (exists !== true) return exists === false ? null : false;
    const store = await openOwnLedger(config, at, () => (failed = true));
    if ('kind' in store) return false;
    await using _reader = store.reader;
    await using ledger = store.ledger;
    return (await noter(ledger, store.now)(row)) && !failed;
  } catch {
    return false;
  }
}
