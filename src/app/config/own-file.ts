/**
 * The file of this machine, if the configuration in use is in a database. Some fields need a person
 * at the machine and always come from this file: the place of the database, folders of agents
 * outside the configuration's folder, and programs that svc starts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigRefused } from '../../config/config-control.ts';
import { fileOnlyFields } from '../../config/file-only.ts';
import type { Config } from '../../config/config.ts';
import {
  inspectConfig,
  inspectText,
  type ConfigPlace,
  type Inspection,
} from '../../config/inspect.ts';
import { isByFlag } from '../../config/own-addresses.ts';
import { problemWithoutPlace, type ConfigProblem } from '../../config/problems.ts';
import type { ConfigInDatabase, LocalAsked, LocalConfig } from '../../cluster/cluster.ts';
import {
  fieldsOfTheProcess,
  type AskedBy,
  type ConfigSnapshot,
  type Installer,
  type NextText,
} from './prepare.ts';
import {
  isOfProgram,
  notInOwnFile,
  ofEachFile,
  restartOfAllRequired,
} from '../../config/refusals.ts';

class OwnFile {
  readonly path: string;
  readonly #place: ConfigPlace;
  /** The last valid configuration in the file. */
  #config: Pick<Config, 'brains'> = { brains: [] };

  constructor(place: ConfigPlace) {
    this.path = place.file;
    this.#place = place;
  }

  /** Reads and checks the file now. */
  async read(): Promise<Inspection> {
    const { file, env, addresses } = this.#place;
    const inspection = await inspectConfig(file, env, 'file', addresses);
    const { validation } = inspection;
    if (validation.kind === 'valid') this.#config = validation.config;
    return inspection;
  }

  /** Checks a text as if it were in the file. */
  inspect(text: string): Promise<Inspection> {
    const { file, env, addresses } = this.#place;
    return inspectText(text, file, env, false, addresses);
  }

  /** Fields of a configuration with folders or programs that this machine's file does not have. */
  async fieldsUnknown(config: Config, folder: string): Promise<readonly string[]> {
    await this.read();
    return fileOnlyFields(config, this.#config, folder);
  }

  /** @param askedHere the text as a person wrote it here; null: another process proposes */
  heldBack(askedHere: Inspection | null): AskedBy['heldBack'] {
    return async (used, next) => {
      const refused = refusalOfFields(used, next, askedHere);
      if (refused !== null) return refused;
      const elsewhere = await this.fieldsUnknown(next.config, next.folder);
      return elsewhere.length > 0 ? notInOwnFile(elsewhere, this.path) : null;
    };
  }
}

function refusalOfFields(
  used: ConfigSnapshot,
  { text, config }: NextText,
  askedHere: Inspection | null,
): ConfigRefused | null {
  const changed = fieldsOfTheProcess(used, { text, storage: used.storage });
  const fields = changed.filter((path) => !isByFlag(path, config));
  const isOfStorage = (field: string): boolean => /^storage(?:$|\.)/.test(field);
  const others = fields.filter((field) => !isOfStorage(field));
  if (others.length > 0) return restartOfAllRequired(others);
  const ofStorage = fields.filter(isOfStorage);
  // Another process has checked the storage of its own proposal. Here it means nothing.
  if (ofStorage.length === 0 || askedHere === null) return null;
  const { validation } = askedHere;
  const written = validation.kind === 'valid' ? validation.config.storage : null;
  return isDeepStrictEqual(written, used.config.storage) ? null : ofEachFile(ofStorage);
}

/** @param own whose storage the result gets */
function withStorageOf(
  own: Pick<ConfigSnapshot, 'config' | 'storage'>,
  inspection: Inspection,
): Inspection {
  const { validation } = inspection;
  const { storage } = own;
  if (validation.kind === 'invalid') return { ...inspection, storage };
  const config = { ...validation.config, storage: own.config.storage };
  return { ...inspection, storage, validation: { ...validation, config } };
}

/** The side of this process, when a cluster agrees on a configuration. */
export function localConfig(
  installer: Installer,
  place: ConfigPlace,
  onBehind: LocalConfig['onBehind'],
): LocalConfig {
  const { events, stop } = installer;
  const file = new OwnFile(place);
  return {
    used: () => installer.used().revision,
    async prepare(asked: LocalAsked) {
      const used = installer.used();
      const inspection = asked.by === 'signal' ? await file.read() : await file.inspect(asked.text);
      const mayAskWith = asked.by === 'operator' ? asked.mayAskWith : () => true;
      const heldBack = file.heldBack(asked.by === 'cluster' ? null : inspection);
      const by = { mayAskWith, heldBack };
      const next = await installer.prepare(withStorageOf(used, inspection), by);
      if (next.kind === 'refused') return next;
      const { text, revision } = next.snapshot;
      return { kind: 'prepared', text, revision, open: () => installer.open(next) };
    },
    inTurn: (act) => installer.inTurn(act),
    stop,
    events,
    onBehind,
  };
}

/**
 * Checks the configuration in the database for a start, as this machine would run it. Fields that
 * need a person at the machine come from its own file.
 * @param own the file of this machine, without problems
 */
export async function inspectInDatabase(
  current: ConfigInDatabase,
  own: Inspection,
  place: ConfigPlace,
): Promise<Inspection> {
  const { validation: ofFile, storage } = own;
  if (ofFile.kind === 'invalid') return own;
  const file = new OwnFile(place);
  const written = await file.inspect(current.text);
  const inspection = withStorageOf({ config: ofFile.config, storage }, written);
  const { validation, folder } = inspection;
  if (validation.kind === 'invalid') return inspection;
  const elsewhere = await file.fieldsUnknown(validation.config, folder);
  const unknown = elsewhere.map((path) => unknownHere(path, place.file));
  if (unknown.length > 0)
    return { ...inspection, validation: { kind: 'invalid', problems: unknown } };
  const problems = [configElsewhere(current, place.file), ...validation.problems];
  return { ...inspection, validation: { ...validation, problems } };
}

function unknownHere(path: string, file: string): ConfigProblem {
  const remedy = `Write it into ${file} as well, and start svc again.`;
  const isProgram = isOfProgram(path);
  const what = isProgram
    ? `has a program to start that ${file} does not have, and such a program`
    : `names a folder outside of that of ${file}, and such a folder`;
  const inUse = 'the configuration in use, which lies in the database,';
  const message = `${inUse} ${what} comes by hand only`;
  return problemWithoutPlace(isProgram ? 'mcp_command' : 'folder_elsewhere', path, message, remedy);
}

/** Warns that the file is not the configuration in use. */
export function configElsewhere({ revision, at }: ConfigInDatabase, file: string): ConfigProblem {
  const message =
    `the configuration in use is revision ${revision} of the database, since ` +
    `${new Date(at).toISOString()}, and ${file} is another one`;
  const remedy =
    'To make the file the one in use, send svc a SIGHUP or PUT it to /api/v1/config; where that ' +
    'needs a restart, stop every svc on the database and run svc config use.';
  return problemWithoutPlace('config_elsewhere', '', message, remedy);
}
