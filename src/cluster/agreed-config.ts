/**
 * Stores the configuration in the database of several instances. All of them use the one from
 * there. A new one comes into use at all instances or at none. svc writes no file here. The file of
 * this machine serves the start, and a signal proposes its text.
 */
import { hostname } from 'node:os';
import type { WarningStatus } from '../admin/admin.ts';
import type {
  Applied,
  ConfigAsked,
  ConfigKept,
  ConfigOnDisk,
  ConfigRefused,
  ConfigRow,
  HistoryFault,
} from '../config/config-control.ts';
import { problemWithoutPlace, type ConfigProblem } from '../config/problems.ts';
import type { Inspection } from '../config/inspect.ts';
import type { SteadyTime } from '../lib/clock.ts';
import type { Peers } from './peers.ts';
import {
  ConfigsFailed,
  type SharedConfigs,
  type ProposalEnd,
} from './backend.ts';
import { ConfigWatcher, WatchTimer } from '../app/config/shared-config-watcher.ts';
import type { ConfigStore, Installer, OpenedConfig } from '../app/config/config-store.ts';
import { OwnFile, withStorageOf, type OwnPlace } from '../app/config/own-file.ts';
import type { AskedBy, NextConfig } from '../app/config/prepare.ts';
import {
  inDatabase,
  notSaved,
  refusedByInstances,
  revisionConflict,
  rolledBack,
  describeInstance,
  stopping,
  withName,
} from '../config/refusals.ts';

export type SharedDeps = OwnPlace & {
  readonly configs: SharedConfigs;
  readonly peers: Pick<Peers, 'instances' | 'onBroadcast' | 'broadcast'>;
  /** The number of the configuration that this process uses. */
  readonly n: number;
  readonly version: string;
  readonly steady: () => SteadyTime;
  /** Called when this process cannot use the shared configuration and must end. */
  readonly onBehind: (why: string) => void;
};

/** How long an answer waits until all instances use the new configuration. */
const allUseMs = 5_000;
/** How long to wait for the end of another instance's proposal. */
const othersMs = 25_000;
const triesMax = 5;

type ConfigRequest = {
  readonly by: 'operator' | 'signal';
  readonly inspect: () => Promise<Inspection>;
  readonly mayAskWith: AskedBy['mayAskWith'];
  /** The revision to replace; null: the one in use, whichever it is. */
  readonly revision: string | null;
};

export class DatabaseConfigStore implements ConfigStore {
  readonly place = 'database';
  readonly file = null;
  readonly #installer: Installer;
  readonly #deps: SharedDeps;
  readonly #own: OwnFile;
  readonly #configWatcher: ConfigWatcher;
  readonly #watchTimer: WatchTimer;
  #leaving: Promise<void> | null = null;

  constructor(installer: Installer, deps: SharedDeps) {
    const { configs, peers, n, steady, onBehind } = deps;
    this.#installer = installer;
    this.#deps = deps;
    this.#own = new OwnFile(deps);
    const notify = (): void => this.#watchTimer.notify();
    const own = this.#own;
    this.#configWatcher = new ConfigWatcher({
      installer,
      own,
      configs,
      steady,
      n,
      notify,
      onBehind,
    });
    this.#watchTimer = new WatchTimer({
      peers,
      inTurn: (act) => installer.inTurn(act),
      update: () => this.#update(),
      isWaiting: () => this.#configWatcher.isHolding || this.#configWatcher.isStuck,
    });
    installer.stop.addEventListener('abort', () => void this.#leave(), { once: true });
  }

  get warnings(): readonly WarningStatus[] {
    return this.#configWatcher.warnings;
  }

  async onDisk(): Promise<ConfigOnDisk> {
    return { revision: this.#installer.used().revision, text: null, why: inDatabase };
  }

  async history(): Promise<readonly ConfigRow[] | HistoryFault> {
    const { revision: used } = this.#installer.used();
    const kept = await this.#deps.configs.history().catch(faultOf);
    if ('kind' in kept) return kept;
    return kept.map(({ revision, at, bytes }) => {
      return { revision, savedAt: at, bytes, used: revision === used };
    });
  }

  async kept(revision: string): Promise<ConfigKept | HistoryFault | null> {
    const kept = await this.#deps.configs.kept(revision).catch(faultOf);
    if (kept === null || 'kind' in kept) return kept;
    return { revision, text: kept.text, savedAt: kept.at };
  }

  apply({ text, revision, mayAskWith }: ConfigAsked): Promise<Applied> {
    const inspect = (): Promise<Inspection> => this.#own.inspect(text);
    return this.#take({ by: 'operator', inspect, mayAskWith, revision });
  }

  reload(): Promise<Applied> {
    const inspect = (): Promise<Inspection> => this.#own.read();
    return this.#take({ by: 'signal', inspect, mayAskWith: () => true, revision: null });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave();
  }

  async #take(inspection: ConfigRequest): Promise<Applied> {
    try {
      for (let tries = 0; tries < triesMax; tries++) {
        const taken = await this.#try(inspection);
        if (taken !== 'busy') return taken;
      }
      return notSaved('Others propose a configuration again and again; ask again in a moment.');
    } catch (error) {
      if (error instanceof ConfigsFailed) return notSaved(error.message);
      throw error;
    }
  }

  async #try({ by, inspect, mayAskWith, revision }: ConfigRequest): Promise<Applied | 'busy'> {
    const unsettled = await this.#untilSettled();
    if (unsettled !== null) return unsettled;
    const used = this.#installer.used();
    if (revision !== null && revision !== used.revision) return revisionConflict(used.revision);
    const inspection = await inspect();
    const heldBack = this.#own.heldBack(inspection);
    const next = await this.#installer.prepare(withStorageOf(used, inspection), {
      mayAskWith,
      heldBack,
    });
    if (next.kind === 'refused') return this.#named(next);
    // Skills and folders on this machine may have changed, though the text has not.
    if (next.snapshot.revision === used.revision) return this.#installer.use(next);
    const opened = await this.#installer.open(next);
    if (opened.kind === 'refused') return this.#named(opened);
    return this.#propose(by, next, opened);
  }

  async #propose(
    by: ConfigRequest['by'],
    { snapshot: { text, revision } }: NextConfig,
    opened: OpenedConfig,
  ): Promise<Applied | 'busy'> {
    let end: ProposedEnd;
    const pause = (): Promise<void> => this.#watchTimer.pause();
    const notify = (): void => this.#watchTimer.notify();
    const proposing = { ...this.#deps, stop: this.#installer.stop, notify, pause };
    try {
      end = await propose(this.#configWatcher.n, { text, revision, by }, proposing);
    } catch (error) {
      await opened.drop();
      throw error;
    }
    if (end.kind === 'used') return this.#use(opened, end.n);
    if (end.kind === 'unknown') this.#configWatcher.holdOpen(end.n, opened);
    else await opened.drop();
    switch (end.kind) {
      case 'busy':
      case 'moved':
        return 'busy';
      case 'refused':
        this.#watchTimer.notify();
        return refusedByInstances(end.refusals);
      case 'closed':
        if (this.#installer.stop.aborted) return rolledBack(stopping);
        return end.why === 'moved' ? 'busy' : notSaved('It took too long to hear from all.');
      case 'unknown':
        return notSaved(
          'The database server stopped answering meanwhile. Look again once it answers: the new ' +
            'one may come into use then. Until then:',
        );
      default:
        return end satisfies never;
    }
  }

  /** Uses a configuration that the database has accepted. Every instance uses it within seconds. */
  async #use(opened: OpenedConfig, n: number): Promise<Applied> {
    const applied = opened.use();
    this.#watchTimer.notify();
    if (applied.kind === 'refused') return applied;
    await this.#configWatcher.tookIntoUse(n).catch(ignoreAway);
    const behind = await this.#untilAllUse();
    return { ...applied, warnings: [...applied.warnings, ...behind] };
  }

  /** @returns a warning for each instance that does not use it yet */
  async #untilAllUse(): Promise<readonly ConfigProblem[]> {
    const { configs, steady } = this.#deps;
    const began = steady();
    for (;;) {
      const seen = await configs.look(null).catch(ignoreAway);
      if (seen === undefined || seen.behind.length === 0) return [];
      if (steady() - began >= allUseMs || this.#installer.stop.aborted) {
        return seen.behind.map((instance) => {
          const message = `${describeInstance(instance)} has not taken it yet`;
          const remedy = 'It takes it within seconds, or ends; see its log.';
          return problemWithoutPlace('config_behind', '', message, remedy);
        });
      }
      await this.#watchTimer.pause();
    }
  }

  /**
   * Waits until no proposal is open and the shared configuration is in use here.
   * @returns null: it is so
   */
  async #untilSettled(): Promise<ConfigRefused | null> {
    const { steady } = this.#deps;
    const began = steady();
    for (;;) {
      if (this.#installer.stop.aborted) return rolledBack(stopping);
      const seen = await this.#configWatcher.update();
      const isSettled = seen.open === null && seen.current === this.#configWatcher.n;
      if (isSettled && !this.#configWatcher.isHolding) return null;
      if (steady() - began > othersMs) {
        return notSaved('Another configuration is on its way; ask again in a moment.');
      }
      await this.#watchTimer.pause();
    }
  }

  #named(refused: ConfigRefused): ConfigRefused {
    const { configs, peers, version } = this.#deps;
    const isOfAll = refused.code === 'config_invalid' || refused.code === 'would_lock_out';
    if (isOfAll || peers.instances().length < 2) return refused;
    return withName(refused, { id: configs.instance, host: hostname(), version });
  }

  async #update(): Promise<void> {
    try {
      await this.#configWatcher.update();
    } catch (error) {
      // The storage reports an absent server, or that this process counts as dead.
      if (error instanceof ConfigsFailed) return;
      this.#installer.events.faulted({ where: 'looking at the shared configuration', error });
    }
  }

  /**
   * Stops looking at the shared configuration, and tells the others not to wait for this instance.
   */
  #leave(): Promise<void> {
    this.#watchTimer.close();
    this.#leaving ??= this.#installer.inTurn(async () => {
      await this.#configWatcher.leave().catch(ignoreAway);
    });
    return this.#leaving;
  }
}

function ignoreAway(error: unknown): undefined {
  if (!(error instanceof ConfigsFailed)) throw error;
}

function faultOf(error: unknown): HistoryFault {
  if (error instanceof ConfigsFailed) return { kind: 'fault', detail: error.message };
  throw error;
}

/** What a proposal to all instances needs. */
type Proposing = {
  readonly configs: SharedConfigs;
  readonly steady: () => SteadyTime;
  /** Once aborted, the proposal is withdrawn. */
  readonly stop: AbortSignal;
  /** Makes the other instances look at once. */
  readonly notify: () => void;
  /** Resolves after a moment, or earlier when an instance has news. */
  readonly pause: () => Promise<void>;
};

/** `unknown`: the server stopped answering, and the proposal may still come into use. */
type ProposedEnd =
  | ProposalEnd
  | { readonly kind: 'busy' }
  | { readonly kind: 'moved' }
  | { readonly kind: 'unknown'; readonly n: number };

/** After so long without a server, the caller gets an answer. */
const awayMs = 20_000;

/**
 * Proposes a configuration and waits for the result.
 * @param base the number of the configuration that it replaces
 * @throws ConfigsFailed if nothing was proposed
 */
async function propose(
  base: number,
  written: Parameters<SharedConfigs['propose']>[1],
  { configs, steady, stop, notify, pause }: Proposing,
): Promise<ProposedEnd> {
  const proposed = await configs.propose(base, written);
  if (proposed.kind !== 'proposed') return proposed;
  const { n } = proposed;
  notify();
  let answeredAt = steady();
  for (;;) {
    try {
      if (stop.aborted) await configs.close(n, 'withdrawn');
      const decided = await configs.decide(n);
      if (decided.kind !== 'open') return decided;
      answeredAt = steady();
    } catch (error) {
      if (!(error instanceof ConfigsFailed)) throw error;
      const isOver = error.reason !== 'away' || stop.aborted;
      if (isOver || steady() - answeredAt > awayMs) return { kind: 'unknown', n };
    }
    await pause();
  }
}
