/**
 * The file of this machine, where the configuration in use lies in a database. What needs a person
 * at the machine comes from it alone, whatever the database says: where the database is, folders
 * of agents that lie elsewhere, and programs that svc starts.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigRefused } from '../../admin/config-control.ts';
import { fieldsByHand } from '../../config/file-only.ts';
import type { Config } from '../../config/config.ts';
import { inspectConfig, inspectText, type Inspection } from '../../config/inspect.ts';
import { isByFlag, type OwnAddresses } from '../../config/own-addresses.ts';
import { fieldsOfTheProcess, type AskedBy, type ConfigSnapshot } from './prepare.ts';
import type { NextText } from './prepare.ts';
import { notInOwnFile, ofEachFile, restartOfAllRequired } from './refusals.ts';

export type OwnPlace = {
  /** Absolute: relative paths of a configuration are taken from its folder. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where this process listens instead of where a configuration says; left out: nowhere. */
  readonly addresses?: OwnAddresses | undefined;
};

export class OwnFile {
  readonly path: string;
  readonly #place: OwnPlace;
  /** As it could be used the last time. */
  #config: Pick<Config, 'brains'> = { brains: [] };

  constructor({ file, env, addresses }: OwnPlace) {
    this.path = file;
    this.#place = { file, env, addresses };
  }

  /** What lies there now. */
  async read(): Promise<Inspection> {
    const { file, env, addresses } = this.#place;
    const inspection = await inspectConfig(file, env, 'file', addresses);
    const { validation } = inspection;
    if (validation.kind === 'valid') this.#config = validation.config;
    return inspection;
  }

  /** Checks a text as if it lay there. */
  inspect(text: string): Promise<Inspection> {
    const { file, env, addresses } = this.#place;
    return inspectText(text, file, env, false, addresses);
  }

  /** Fields of a configuration with folders or programs that this machine's file does not have. */
  async fieldsUnknown(config: Config, folder: string): Promise<readonly string[]> {
    await this.read();
    return fieldsByHand(config, this.#config, folder);
  }

  /** @param asked as it was written, by whom a person asks here; null: another instance proposes */
  heldBack(asked: Inspection | null): AskedBy['heldBack'] {
    return async (used, next) => {
      const refused = refusalOfFields(used, next, asked);
      if (refused !== null) return refused;
      const elsewhere = await this.fieldsUnknown(next.config, next.folder);
      return elsewhere.length > 0 ? notInOwnFile(elsewhere, this.path) : null;
    };
  }
}

function refusalOfFields(
  used: ConfigSnapshot,
  { text, config }: NextText,
  asked: Inspection | null,
): ConfigRefused | null {
  const changed = fieldsOfTheProcess(used, { text, storage: used.storage });
  const fields = changed.filter((path) => !isByFlag(path, config));
  const isOfStorage = (field: string): boolean => /^storage(?:$|\.)/.test(field);
  const others = fields.filter((field) => !isOfStorage(field));
  if (others.length > 0) return restartOfAllRequired(others);
  const ofStorage = fields.filter(isOfStorage);
  // What an instance proposes was asked for there; here it means nothing.
  if (ofStorage.length === 0 || asked === null) return null;
  const { validation } = asked;
  const written = validation.kind === 'valid' ? validation.config.storage : null;
  return isDeepStrictEqual(written, used.config.storage) ? null : ofEachFile(ofStorage);
}

/** @param own whose storage it gets */
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
