/**
 * How a command comes to the ledger. With storage it reads the database itself, whether svc runs
 * or not; without, only the running service knows. What changes the ledger goes through the
 * service while it owns the database; a stopped one's database is owned for as long as the command
 * takes.
 */
import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import type { Admissions } from '../../domain/gate.ts';
import { createIdSource } from '../../domain/ids.ts';
import { Pairings } from '../../flow/pairing.ts';
import { openLedger, openReader } from '../../storage.ts';
import { ReadFailed, type Ledger, type LedgerReader } from '../../store/store.ts';
import { readConfig, readSecrets } from '../boot.ts';
import { exitCode, type Io } from '../cli.ts';
import { programVersion } from '../program.ts';
import { Unanswered, type Bearer } from '../asking.ts';
import { Remote, type LedgerWrites } from '../remote.ts';
import { audited, auditedAdmissions } from './audited.ts';

export type Place = {
  readonly io: Io;
  /** The configuration file, as the person named it. */
  readonly file: string;
  readonly config: Config;
  /** Absolute; null: everything is in the memory of the running service. */
  readonly storagePath: string | null;
};

/** @returns the place, or the exit code after the refusal was told */
export async function findPlace(file: string | null, io: Io): Promise<Place | number> {
  const name = file ?? 'svc.json';
  const read = await readConfig(name, io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  return { io, file: name, config: read.config, storagePath: read.inspection.storagePath };
}

/** Lets a command read; what keeps it from that is told, and the exit code is 1. */
export function reading(
  place: Place,
  use: (reader: LedgerReader) => Promise<number>,
): Promise<number> {
  return heard(place, async () => {
    const { storagePath } = place;
    if (storagePath === null) {
      await using remote = remoteAt(place, 'Without storage only the running svc can tell this');
      return await use(remote);
    }
    const reader = await openReader(storagePath);
    if ('kind' in reader) throw new Unanswered(reader.message);
    await using open = reader;
    return await use(open);
  });
}

/** Lets a command write, in the same way. */
export function writing(
  place: Place,
  use: (ledger: LedgerWrites) => Promise<number>,
): Promise<number> {
  return owning(place, (ledger) => use(audited(ledger)), use);
}

/** Lets a command let people in, in the same way. */
export function pairing(
  place: Place,
  use: (admissions: Admissions) => Promise<number>,
): Promise<number> {
  const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
  const over = (ledger: Ledger): Admissions =>
    auditedAdmissions(ledger, new Pairings(ledger, Date.now, random));
  return owning(place, (ledger) => use(over(ledger)), use);
}

/** The ledger itself where no service owns it, else the service that does. */
function owning(
  place: Place,
  useLedger: (ledger: Ledger) => Promise<number>,
  useRemote: (remote: Remote) => Promise<number>,
): Promise<number> {
  return heard(place, async () => {
    const { storagePath, config } = place;
    if (storagePath !== null) {
      if (!existsSync(storagePath)) {
        throw new Unanswered(`There is no database ${storagePath} yet: svc makes it.`);
      }
      let failed: unknown = null;
      const store = await openLedger({
        storage: config.storage,
        path: storagePath,
        ids: createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes)),
        now: Date.now,
        failed: (error) => (failed = error),
        news: {},
      });
      if (!('kind' in store)) {
        await using _reader = store.reader;
        await using ledger = store.ledger;
        const code = await useLedger(ledger).catch((error: unknown) => {
          if (failed === null) throw error;
          return exitCode.failed;
        });
        if (failed === null) return code;
        throw new Unanswered(`The database ${storagePath} could not be written.`);
      }
      if (store.code !== 'storage_locked') throw new Unanswered(store.message);
    }
    const why =
      storagePath === null
        ? 'Without storage only the running svc can do this'
        : 'While svc runs, only it can write to its database';
    await using remote = remoteAt(place, why);
    return await useRemote(remote);
  });
}

async function heard({ io }: Place, act: () => Promise<number>): Promise<number> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Unanswered || error instanceof ReadFailed)) throw error;
    io.stderr.write(`${error.message}\n`);
    return exitCode.failed;
  }
}

/** @param why begins the sentence that says what is missing */
function remoteAt(place: Place, why: string): Remote {
  const { enabled, address } = place.config.observability;
  if (!enabled) {
    throw new Unanswered(
      `${why}, and its admin server is switched off: ` +
        `take "enabled": false out of observability in ${place.file} and start svc again.`,
    );
  }
  return new Remote({
    address,
    bearer: bearerOf(place, why),
    version: programVersion(),
    stop: place.io.stop,
  });
}

function bearerOf({ config, file, io }: Place, why: string): Bearer {
  const variable = config.admin?.tokenEnv;
  if (variable === undefined) {
    const block = '"admin": {"token_env": "SVC_ADMIN_TOKEN"}';
    const message =
      `${why}, and only for who has its admin token: add ${block} to ${file}, ` +
      'set that variable for the service and here, and start svc again.';
    return { kind: 'none', message };
  }
  const read = readSecrets(config, io, () => false);
  const token = read.kind === 'read' ? read.secrets.get(variable) : undefined;
  if (token !== undefined) return { kind: 'token', variable, token };
  const message =
    `${why}, and only for who has its admin token: ` +
    `set ${variable} here to what the service was started with.`;
  return { kind: 'none', message };
}
