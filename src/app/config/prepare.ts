/**
 * Makes a running configuration from a text, and changes nothing on the way. The installer then
 * brings it into use. So there is one place where a configuration comes into use.
 */
import type { Applied, ConfigRefused, OpenedConfig } from '../../config/config-control.ts';
import { fileOnlyFields } from '../../config/file-only.ts';
import type { Config } from '../../config/config.ts';
import type { ConfigProblem } from '../../config/problems.ts';
import { restartFields } from '../../config/changes/lifetime.ts';
import { revisionOf, type Inspection } from '../../config/inspect.ts';
import { isObject } from '../../lib/json.ts';
import { isByFlag } from '../../config/own-addresses.ts';
import type { Events } from '../../domain/event.ts';
import { pathOfFile, type StoragePlace } from '../../config/storage-place.ts';
import { locate, type Json } from '../../config/locate.ts';
import type { SecretLookupResults } from '../../config/found-secret.ts';
import { namedSecrets, problemsOf, resolveSecrets } from '../../config/secrets.ts';
import type { Log } from '../../lib/log.ts';
import type { RunningConfig } from '../running-config.ts';
import { createRunningConfig, readSkills, type ServiceDeps } from '../service.ts';
import type { SecretLookup } from '../../secrets/secrets.ts';
import { problemOfSkills, warningOfSkill } from './skill-warnings.ts';
import { warnOfPrivateTurns, type PrivateTurns } from './private-warning.ts';
import {
  invalid,
  onlyByHand,
  restartRequired,
  rolledBack,
  secretMissing,
  stopping,
  wouldLockOut,
} from '../../config/refusals.ts';

/** What a running configuration was made from. */
export type ConfigSnapshot = {
  readonly text: string;
  readonly revision: string;
  readonly config: Config;
  readonly storage: StoragePlace | null;
  readonly warnings: readonly Warning[];
};

export type Warning = ConfigProblem;

export type NextConfig = {
  readonly kind: 'next';
  readonly snapshot: ConfigSnapshot;
  readonly runningConfig: RunningConfig;
  /** The secrets that it runs with. */
  readonly found: SecretLookupResults;
};

/** Brings a configuration into use in this process. */
export interface Installer {
  used(): ConfigSnapshot;
  /** Milliseconds since 1970. */
  usedAt(): number;
  readonly events: Events;
  /** Once aborted, no new configuration comes into use. */
  readonly stop: AbortSignal;
  prepare(inspection: Inspection, by: AskedBy): Promise<NextConfig | ConfigRefused>;
  /**
   * Opens a configuration beside the one in use. No other can open until this one is used or
   * dropped.
   */
  open(next: NextConfig): Promise<OpenedConfig | ConfigRefused>;
  use(next: NextConfig): Promise<Applied>;
  /** Waits until no other turn runs. No other turn begins before this one has ended. */
  inTurn<T>(act: () => Promise<T>): Promise<T>;
}

export type PrepareDeps = AskedBy & {
  /** The lookup, which holds the secrets of the configuration in use. */
  readonly lookup: SecretLookup;
  readonly log: Log;
  readonly deps: ServiceDeps;
  readonly reader: PrivateTurns;
  /** The configuration in use. */
  readonly used: ConfigSnapshot;
  readonly stop: AbortSignal;
  /** false: svc recognises an operator without the token of the admin block. */
  readonly tokenWanted: boolean;
};

/** What the source of a new configuration may ask for. */
export type AskedBy = {
  readonly mayAskWith: (allowedHosts: readonly string[]) => boolean;
  /** Why it cannot come into use while svc runs; null: it can. */
  readonly heldBack: (used: ConfigSnapshot, next: NextText) => Promise<ConfigRefused | null>;
};

export type NextText = Pick<Inspection, 'text' | 'storage' | 'folder'> & {
  readonly config: Config;
};

/**
 * @param byHand whether the text is in the file; who can write the file may name folders and
 *   programs
 */
export function heldBackByFile(byHand: boolean): AskedBy['heldBack'] {
  return async (used, next) => {
    const fields = fieldsOfTheProcess(used, next).filter((path) => !isByFlag(path, next.config));
    if (fields.length > 0) return restartRequired(fields);
    const elsewhere = byHand ? [] : await fileOnlyFields(next.config, used.config, next.folder);
    return elsewhere.length > 0 ? onlyByHand(elsewhere) : null;
  };
}

export async function prepareConfig(
  { validation, text, storage, folder }: Inspection,
  options: PrepareDeps,
): Promise<NextConfig | ConfigRefused> {
  const { lookup, log, deps, reader, used, stop, mayAskWith, heldBack } = options;
  if (validation.kind === 'invalid') return invalid(validation.problems);
  const { config, problems } = validation;
  const refused = await heldBack(used, { text, storage, folder, config });
  if (refused !== null) return refused;
  const { enabled, allowedHosts } = config.observability;
  if (enabled && !mayAskWith(allowedHosts)) return wouldLockOut();
  const names = namedSecrets(config).map(({ name }) => name);
  const found = await lookup.find(names, stop);
  const { secrets, missing, unfit, warnings } = resolveSecrets(config, found, options.tokenWanted);
  if (stop.aborted) return rolledBack(stopping);
  if (missing.length > 0) return secretMissing([...problemsOf(missing), ...unfit]);
  if (unfit.length > 0) return invalid(unfit);
  log.scrub(secrets.values());
  const skills = await readSkills(config.brains);
  if (skills.kind === 'problem') return invalid([problemOfSkills(skills)]);
  const runningConfig = createRunningConfig(text, config, secrets, deps, skills.texts);
  const privateWarnings = await warnOfPrivateTurns(config, reader);
  const all = [
    ...problems,
    ...warnings,
    ...skills.warnings.map(warningOfSkill),
    ...privateWarnings,
  ];
  const snapshot = { text, revision: revisionOf(text), config, storage, warnings: all };
  return { kind: 'next', snapshot, runningConfig, found };
}

type Written = Pick<ConfigSnapshot, 'text' | 'storage'>;

/** Changed fields that need a restart, by the schema's `lifetime`. */
export function fieldsOfTheProcess(before: Written, after: Written): readonly string[] {
  return restartFields(resolved(before), resolved(after));
}

/** The document with its storage path resolved, so that two spellings of one path are equal. */
function resolved({ text, storage }: Written): Json | undefined {
  const document = locate(text).value;
  if (!isObject(document) || !isObject(document['storage'])) return document;
  return { ...document, storage: { ...document['storage'], path: pathOfFile(storage) } };
}
