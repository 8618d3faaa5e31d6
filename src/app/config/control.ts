/**
 * Brings new configurations into use while svc runs: from the admin API, the history, the cluster,
 * or the file after a signal. One at a time, each by the same steps: check → compare with fields
 * that need a restart → secrets → skills → running configuration → runtime. The config store
 * decides where and when to save it. After any failure the previous configuration stays in use, and
 * the refusal says why.
 */
import type { WarningStatus } from '../../admin/admin.ts';
import type {
  Applied,
  ConfigAsked,
  ConfigControl,
  ConfigInUse,
  ConfigKept,
  ConfigOnDisk,
  ConfigRefused,
  ConfigRow,
  ConfigStore,
  HistoryFault,
  OpenedConfig,
} from '../../config/config-control.ts';
import type { Cluster, LocalConfig } from '../../cluster/cluster.ts';
import { FileConfigStore } from './file-store.ts';
import type { Runtime } from '../runtime.ts';
import { localConfig } from './own-file.ts';
import type { Log } from '../../lib/log.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import type { OpenedRunningConfig, RunningConfig } from '../running-config.ts';
import type { ServiceSecrets } from '../../secrets/secrets.ts';
import type { ServiceDeps } from '../service.ts';
import {
  prepareConfig,
  type ConfigSnapshot,
  type Installer,
  type NextConfig,
  type Warning,
} from './prepare.ts';
import type { PrivateTurns } from './private-warning.ts';
import { rolledBack, stopping } from '../../config/refusals.ts';
import { changesOf, sentencesOf } from '../../config/changes/changes.ts';
import type { ConfigPlace } from '../../config/inspect.ts';
import { locate } from '../../config/locate.ts';
import { overriddenChanges } from '../../config/own-addresses.ts';
import type { EventHub } from '../../telemetry/events.ts';

export type ControlDeps = {
  readonly cluster: Pick<Cluster, 'openConfigStore'>;
  readonly place: ConfigPlace;
  /** Takes a function to call when the file must be read again. Null: the text is in no file. */
  readonly onReload: ((reload: () => void) => void) | null;
  readonly onBehind: LocalConfig['onBehind'];
  readonly runtime: Runtime;
  readonly deps: ServiceDeps;
  readonly reader: PrivateTurns;
  readonly lookup: ServiceSecrets;
  readonly log: Log;
  /** Once aborted, no new configuration comes into use. */
  readonly stop: AbortSignal;
  /** false: svc recognises an operator without the token of the admin block. */
  readonly tokenWanted: boolean;
  /** Called with each new running configuration, except the first. */
  readonly onUsed: (runningConfig: RunningConfig) => void;
};

export class Control implements ConfigControl {
  readonly #options: ControlDeps;
  readonly #turns = new OneAtATime();
  readonly #configStore: ConfigStore;
  #used: ConfigSnapshot;
  #usedAt: number;
  #reloadWaits = false;
  /** Why the file was refused after a signal. */
  #reloadRefusal: ConfigRefused | null = null;

  /** @param first the snapshot that the running configuration was made from */
  constructor(options: ControlDeps, first: ConfigSnapshot) {
    this.#options = options;
    this.#used = first;
    this.#usedAt = options.deps.now();
    const { cluster, place, onReload, onBehind } = options;
    const installer = this.#installer();
    this.#configStore = cluster.openConfigStore(
      localConfig(installer, place, onBehind),
      () => new FileConfigStore(installer, onReload === null ? null : place),
    );
    onReload?.(() => void this.#reload());
  }

  get used(): ConfigSnapshot {
    return this.#used;
  }

  get warnings(): readonly WarningStatus[] {
    const others = [...this.#configStore.warnings, ...this.#used.warnings];
    if (this.#reloadRefusal === null) return others;
    const message = `The configuration file is not in use: ${this.#reloadRefusal.detail}`;
    const remedy = 'Mend the file and send svc a SIGHUP, or apply one by the admin API.';
    return [{ code: 'config_not_applied', path: '', message, remedy }, ...others];
  }

  inUse(): ConfigInUse {
    const { text, revision } = this.#used;
    const { place, file } = this.#configStore;
    return { text, revision, place, file, usedAt: this.#usedAt };
  }

  onDisk(): Promise<ConfigOnDisk> {
    return this.#configStore.onDisk();
  }

  apply(asked: ConfigAsked): Promise<Applied> {
    return this.#turns.do(async () => {
      const applied = this.#isStopping ?? (await this.#configStore.apply(asked));
      this.#report('operator', applied);
      return applied;
    });
  }

  /** Reads the file when its turn comes, so one waiting reload is enough for all. */
  async #reload(): Promise<void> {
    if (this.#reloadWaits) return;
    this.#reloadWaits = true;
    try {
      await this.#turns.do(async () => {
        this.#reloadWaits = false;
        const applied = this.#isStopping ?? (await this.#configStore.reload());
        this.#reloadRefusal = applied.kind === 'refused' ? applied : null;
        this.#report('signal', applied);
      });
    } catch (error) {
      this.#options.deps.events.faulted({ where: 'reading the configuration again', error });
    }
  }

  history(): Promise<readonly ConfigRow[] | HistoryFault> {
    return this.#configStore.history();
  }

  kept(revision: string): Promise<ConfigKept | HistoryFault | null> {
    return this.#configStore.kept(revision);
  }

  /** Resolves when no change is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#configStore[Symbol.asyncDispose]();
    await this.#turns.do(async () => {});
  }

  get #isStopping(): ConfigRefused | null {
    return this.#options.stop.aborted ? rolledBack(stopping) : null;
  }

  #installer(): Installer {
    const { stop, deps } = this.#options;
    return {
      used: () => this.#used,
      usedAt: () => this.#usedAt,
      events: deps.events,
      stop,
      prepare: (inspection, by) =>
        prepareConfig(inspection, { ...this.#options, used: this.#used, ...by }),
      open: (next) => this.#open(next),
      use: async (next) => {
        const opened = await this.#open(next);
        return opened.kind === 'refused' ? opened : opened.use();
      },
      inTurn: (act) => this.#turns.do(act),
    };
  }

  async #open(next: NextConfig): Promise<OpenedConfig | ConfigRefused> {
    const { runtime, deps } = this.#options;
    if (this.#isStopping !== null) return this.#isStopping;
    try {
      const opened = await runtime.open(next.runningConfig);
      if (opened.kind === 'problem') return rolledBack(opened.message);
      return { kind: 'opened', use: () => this.#use(next, opened), drop: () => opened.drop() };
    } catch (error) {
      deps.events.faulted({ where: 'taking a configuration into use', error });
      return rolledBack('Something went wrong in svc itself.');
    }
  }

  #use({ runningConfig, snapshot, found }: NextConfig, opened: OpenedRunningConfig): Applied {
    const { runtime, deps, lookup, onUsed } = this.#options;
    try {
      const problem = opened.use();
      if (problem !== null) return rolledBack(problem.message);
    } catch (error) {
      deps.events.faulted({ where: 'taking a configuration into use', error });
      if (runtime.runningConfig !== runningConfig)
        return rolledBack('Something went wrong in svc itself.');
    }
    const before = this.#used;
    this.#used = snapshot;
    lookup.hold(found);
    this.#usedAt = deps.now();
    this.#reloadRefusal = null;
    onUsed(runningConfig);
    const changes = describeChanges(before, snapshot, deps.events);
    const { revision, warnings } = snapshot;
    return { kind: 'applied', revision, usedAt: this.#usedAt, changes, warnings };
  }

  #report(by: 'operator' | 'signal', applied: Applied): void {
    const { events } = this.#options.deps;
    if (applied.kind === 'applied') events.configTried({ by, result: 'applied', detail: null });
    else events.configTried({ by, result: applied.code, detail: applied.detail });
  }
}

// How the change to another configuration is reported.

/**
 * Logs the new warnings.
 * @returns the changes, for the person who asked for them
 */
function describeChanges(
  before: ConfigSnapshot,
  after: ConfigSnapshot,
  events: Pick<EventHub, 'warned' | 'noticed'>,
): readonly string[] {
  for (const { code, path, message, remedy } of newWarnings(before, after)) {
    events.warned({ code, path, message: `${message}. ${remedy}` });
  }
  const unheeded = overriddenChanges(before.config, after.config);
  if (unheeded.length > 0) {
    events.noticed({ code: 'address_by_flag', message: unheeded.join(' ') });
  }
  const changes = changesOf(locate(before.text).value, locate(after.text).value);
  return [...sentencesOf(changes), ...unheeded];
}

/** Leaves out the warnings that the previous configuration had too. */
function newWarnings(before: ConfigSnapshot, after: ConfigSnapshot): readonly Warning[] {
  const keyOf = ({ code, path, message }: Warning): string => `${code} ${path} ${message}`;
  const known = new Set(before.warnings.map(keyOf));
  return after.warnings.filter((warning) => !known.has(keyOf(warning)));
}
