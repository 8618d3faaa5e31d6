/**
 * The file of this machine, if the configuration in use is in a database. Some fields need a person
 * at the machine and always come from this file: the place of the database, folders of agents
 * outside the configuration's folder, and programs that svc starts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigRefused } from '../../config/config-control.ts';
import { fileOnlyFields } from '../../config/file-only.ts';
import type { Config } from '../../config/config.ts';
import { inspectConfig, inspectText, type Inspection } from '../../config/inspect.ts';
import { isByFlag, type OwnAddresses } from '../../config/own-addresses.ts';
import { fieldsOfTheProcess, type AskedBy, type ConfigSnapshot, type NextText } from './prepare.ts';
import { notInOwnFile, ofEachFile, restartOfAllRequired } from '../../config/refusals.ts';

export type OwnPlace = {
  /** The absolute path. Relative paths of a configuration start at its folder. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Overrides of the configured listen addresses; left out: none. */
  readonly addresses?: OwnAddresses | undefined;
};

export class OwnFile {
  readonly path: string;
  readonly #place: OwnPlace;
  /** The last valid configuration in the file. */
  #config: Pick<Config, 'brains'> = { brains: [] };

  constructor({ file, env, addresses }: OwnPlace) {
    this.path = file;
    this.#place = { file, env, addresses };
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

  /** @param askedHere the text as a person wrote it here; null: another instance proposes */
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
  // Another instance has checked the storage of its own proposal. Here it means nothing.
  if (ofStorage.length === 0 || askedHere === null) return null;
  const { validation } = askedHere;
  const written = validation.kind === 'valid' ? validation.config.storage : null;
  return isDeepStrictEqual(written, used.config.storage) ? null : ofEachFile(ofStorage);
}

/** @param own whose storage the result gets */
export function withStorageOf(
  own: Pick<ConfigSnapshot, 'config' | 'storage'>,
  inspection: Inspection,
): Inspection {
  const { validation } = inspection;
  const { storage } = own;
  if (validation.kind === 'invalid') return { ...inspection, storage };
  const config = { ...validation.config, storage: own.config.storage };
  return { ...inspection, storage, validation: { ...validation, config } };
}
