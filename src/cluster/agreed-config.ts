/**
 * How the instances on one database agree on a configuration. All of them use the one from there. A
 * new one comes into use at all instances or at none. svc writes no file here. It reads the file of
 * a machine only at a start, and at a signal, which proposes the text of the file.
 */
import { hostname } from 'node:os';
import type {
  Applied,
  ConfigAsked,
  ConfigKept,
  ConfigOnDisk,
  ConfigRefused,
  ConfigRow,
  ConfigStore,
  HistoryFault,
  OpenedConfig,
} from '../config/config-control.ts';
import { problemWithoutPlace, type ConfigProblem } from '../config/problems.ts';
import {
  notSaved,
  previousStays,
  revisionConflict,
  rolledBack,
  stopping,
} from '../config/refusals.ts';
import type { SteadyTime } from '../lib/clock.ts';
import {
  ConfigsFailed,
  type ConfigsSeen,
  type InstanceRefusal,
  type NamedInstance,
  type OpenProposal,
  type Peers,
  type ProposalEnd,
  type SharedConfigs,
  type VoteRefusal,
  type WrittenConfig,
} from './backend.ts';
import type { LocalAsked, LocalConfig, PreparedConfig } from './cluster.ts';

type AgreedDeps = {
  readonly configs: SharedConfigs;
  readonly peers: Pick<Peers, 'instances' | 'onBroadcast' | 'broadcast'>;
  readonly local: LocalConfig;
  /** The number of the configuration that this process uses. */
  readonly n: number;
  readonly version: string;
  readonly steady: () => SteadyTime;
};

const inDatabase =
  'The configuration in use lies in the database, where every svc has it from, and in no file.';

/** How long an answer waits until all instances use the new configuration. */
const allUseMs = 5_000;
/** How long to wait for the end of another instance's proposal. */
const settleMs = 25_000;
/** After so long without a server, the caller gets an answer. */
const awayMs = 20_000;
const triesMax = 5;

type ConfigRequest = {
  readonly asked: Exclude<LocalAsked, { readonly by: 'cluster' }>;
  /** The revision to replace; null: the one in use, whichever it is. */
  readonly revision: string | null;
};

/** `unknown`: the server stopped answering, and the proposal may still come into use. */
type ProposedEnd =
  | ProposalEnd
  | { readonly kind: 'busy' }
  | { readonly kind: 'moved' }
  | { readonly kind: 'unknown'; readonly n: number };

export class AgreedConfigStore implements ConfigStore {
  readonly place = 'database';
  readonly file = null;
  readonly #local: LocalConfig;
  readonly #deps: AgreedDeps;
  readonly #configWatcher: ConfigWatcher;
  readonly #watchTimer: WatchTimer;
  #leaving: Promise<void> | null = null;

  constructor(deps: AgreedDeps) {
    const { local } = deps;
    this.#local = local;
    this.#deps = deps;
    this.#configWatcher = new ConfigWatcher(deps, () => this.#watchTimer.notify());
    this.#watchTimer = new WatchTimer(
      deps,
      () => this.#update(),
      () => this.#configWatcher.isHolding || this.#configWatcher.isStuck,
    );
    local.stop.addEventListener('abort', () => void this.#leave(), { once: true });
  }

  get warnings(): ConfigStore['warnings'] {
    return this.#configWatcher.warnings;
  }

  async onDisk(): Promise<ConfigOnDisk> {
    return { revision: this.#local.used(), text: null, why: inDatabase };
  }

  async history(): Promise<readonly ConfigRow[] | HistoryFault> {
    const used = this.#local.used();
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
    return this.#take({ asked: { by: 'operator', text, mayAskWith }, revision });
  }

  reload(): Promise<Applied> {
    return this.#take({ asked: { by: 'signal' }, revision: null });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave();
  }

  async #take(request: ConfigRequest): Promise<Applied> {
    try {
      for (let tries = 0; tries < triesMax; tries++) {
        const taken = await this.#try(request);
        if (taken !== 'busy') return taken;
      }
      return notSaved('Others propose a configuration again and again; ask again in a moment.');
    } catch (error) {
      if (error instanceof ConfigsFailed) return notSaved(error.message);
      throw error;
    }
  }

  async #try({ asked, revision }: ConfigRequest): Promise<Applied | 'busy'> {
    const unsettled = await this.#untilSettled();
    if (unsettled !== null) return unsettled;
    const used = this.#local.used();
    if (revision !== null && revision !== used) return revisionConflict(used);
    const next = await this.#local.prepare(asked);
    if (next.kind === 'refused') return this.#named(next);
    // Skills and folders on this machine may have changed, though the text has not.
    if (next.revision === used) return useNow(next);
    const opened = await next.open();
    if (opened.kind === 'refused') return this.#named(opened);
    return this.#propose(asked.by, next, opened);
  }

  async #propose(
    by: ConfigRequest['asked']['by'],
    { text, revision }: PreparedConfig,
    opened: OpenedConfig,
  ): Promise<Applied | 'busy'> {
    let end: ProposedEnd;
    try {
      end = await this.#proposalEnd({ text, revision, by });
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
        if (this.#local.stop.aborted) return rolledBack(stopping);
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

  /** @throws ConfigsFailed if nothing was proposed */
  async #proposalEnd(written: WrittenConfig): Promise<ProposedEnd> {
    const { configs, steady, local } = this.#deps;
    const proposed = await configs.propose(this.#configWatcher.n, written);
    if (proposed.kind !== 'proposed') return proposed;
    const { n } = proposed;
    this.#watchTimer.notify();
    let answeredAt = steady();
    for (;;) {
      try {
        if (local.stop.aborted) await configs.close(n, 'withdrawn');
        const decided = await configs.decide(n);
        if (decided.kind !== 'open') return decided;
        answeredAt = steady();
      } catch (error) {
        if (!(error instanceof ConfigsFailed)) throw error;
        const isOver = error.reason !== 'away' || local.stop.aborted;
        if (isOver || steady() - answeredAt > awayMs) return { kind: 'unknown', n };
      }
      await this.#watchTimer.pause();
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
      if (steady() - began >= allUseMs || this.#local.stop.aborted) {
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
   * @returns null: both are true
   */
  async #untilSettled(): Promise<ConfigRefused | null> {
    const { steady } = this.#deps;
    const began = steady();
    for (;;) {
      if (this.#local.stop.aborted) return rolledBack(stopping);
      const seen = await this.#configWatcher.update();
      const isSettled = seen.open === null && seen.current === this.#configWatcher.n;
      if (isSettled && !this.#configWatcher.isHolding) return null;
      if (steady() - began > settleMs) {
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
      this.#local.events.faulted({ where: 'looking at the shared configuration', error });
    }
  }

  /**
   * Stops looking at the shared configuration, and tells the others not to wait for this instance.
   */
  #leave(): Promise<void> {
    this.#watchTimer.close();
    this.#leaving ??= this.#local.inTurn(async () => {
      await this.#configWatcher.leave().catch(ignoreAway);
    });
    return this.#leaving;
  }
}

/** Opens a prepared configuration and uses it at once. */
async function useNow(next: PreparedConfig): Promise<Applied> {
  const opened = await next.open();
  return opened.kind === 'refused' ? opened : opened.use();
}

function ignoreAway(error: unknown): undefined {
  if (!(error instanceof ConfigsFailed)) throw error;
}

function faultOf(error: unknown): HistoryFault {
  if (error instanceof ConfigsFailed) return { kind: 'fault', detail: error.message };
  throw error;
}

/** How long an instance tries to use the shared configuration. */
const behindMs = 5_000;
/** In this time after a change, no warning names the instances that are behind. */
const warningDelayMs = 10_000;

/** This instance's vote on a proposal, sent or not. */
type Vote = {
  readonly proposal: number;
  readonly refusal: VoteRefusal | null;
  /** null: it cannot be used here. */
  readonly opened: OpenedConfig | null;
  isSent: boolean;
};

type Stuck = { readonly since: SteadyTime; readonly why: string };

/**
 * Follows the shared configuration in one instance. It votes on each proposal, keeps an accepted
 * one open until the proposal ends, and uses the shared configuration.
 *
 * `n` is the number of the configuration in use here. An instance that cannot use the shared one
 * tries again for a few seconds. Then it is behind: it ends, and its next start says why.
 *
 * Call its methods one after the other, in the turn of `local`.
 */
class ConfigWatcher {
  readonly #deps: AgreedDeps;
  readonly #notify: () => void;
  #n: number;
  /** The number that the others know to be in use here; null: none. */
  #reported: number | null = null;
  #vote: Vote | null = null;
  #stuck: Stuck | null = null;
  #behind: readonly NamedInstance[] = [];

  /** @param notify makes the other instances look at once */
  constructor(deps: AgreedDeps, notify: () => void) {
    this.#deps = deps;
    this.#notify = notify;
    this.#n = deps.n;
  }

  get n(): number {
    return this.#n;
  }

  /** Whether a configuration is held open for a proposal. */
  get isHolding(): boolean {
    return this.#vote?.opened != null;
  }

  /** Whether the shared configuration cannot be used here. */
  get isStuck(): boolean {
    return this.#stuck !== null;
  }

  get warnings(): ConfigStore['warnings'] {
    const code = 'config_behind';
    const others = this.#behind.map((instance) => ({
      code,
      path: '',
      message: `An older configuration is still in use at ${describeInstance(instance)}.`,
      remedy: 'It takes the one in use within seconds, or ends; see its log.',
    }));
    if (this.#stuck === null) return others;
    const message = `This svc could not take the configuration in use: ${this.#stuck.why}`;
    const remedy = 'It ends soon; its next start says what is missing.';
    return [{ code, path: '', message, remedy }, ...others];
  }

  /** @throws ConfigsFailed */
  async update(): Promise<ConfigsSeen> {
    const { configs } = this.#deps;
    await this.#reportUse();
    const seen = await configs.look(this.#vote?.proposal ?? null);
    if (seen.end !== null) await this.#endVote(seen.end.kind === 'used' ? seen.end.n : null);
    if (seen.current > this.#n) await this.#catchUp();
    if (seen.open !== null) await this.#answer(seen.open);
    this.#behind = seen.ageMs > warningDelayMs ? seen.behind : [];
    await this.#reportUse();
    return seen;
  }

  /** Keeps open a configuration that was proposed here and whose end is unknown. */
  holdOpen(proposal: number, opened: OpenedConfig): void {
    this.#vote = { proposal, refusal: null, opened, isSent: true };
  }

  /** Records that this configuration is in use here. */
  async tookIntoUse(n: number): Promise<void> {
    this.#n = n;
    this.#stuck = null;
    await this.#reportUse();
  }

  /** Ends the votes of this instance. */
  async leave(): Promise<void> {
    await this.#vote?.opened?.drop();
    this.#vote = null;
    this.#reported = this.#n;
    await this.#deps.configs.uses(null);
  }

  async #reportUse(): Promise<void> {
    if (this.#reported === this.#n) return;
    await this.#deps.configs.uses(this.#n);
    this.#reported = this.#n;
  }

  /** @param n the number under which it is in use; null: it is not in use */
  async #endVote(n: number | null): Promise<void> {
    const vote = this.#vote;
    this.#vote = null;
    if (n === null || vote?.opened == null) return vote?.opened?.drop();
    if (vote.opened.use().kind === 'refused') return;
    this.#n = n;
    this.#logFollowed();
  }

  async #catchUp(): Promise<void> {
    const { configs, local } = this.#deps;
    // Nothing else can open while the vote's configuration is open.
    await this.#endVote(null);
    const current = await configs.current();
    const next = await local.prepare({ by: 'cluster', text: current.text });
    const applied = next.kind === 'refused' ? next : await useNow(next);
    if (applied.kind === 'refused') return this.#isBehind(applied);
    this.#n = current.n;
    this.#stuck = null;
    this.#logFollowed();
  }

  #isBehind(refused: ConfigRefused): void {
    const { steady, local } = this.#deps;
    if (local.stop.aborted) return;
    const why = voteOf(refused).detail;
    const since = this.#stuck?.since ?? steady();
    if (this.#stuck === null) {
      const message = `The configuration in use cannot be taken here: ${why}`;
      local.events.warned({ code: 'config_behind', message });
    }
    this.#stuck = { since, why };
    if (steady() - since >= behindMs) local.onBehind(why);
  }

  async #answer(open: OpenProposal): Promise<void> {
    const { configs } = this.#deps;
    const isHeld = this.#vote?.proposal === open.n;
    if (open.by.id === configs.instance) {
      // This instance lost the answer to its own proposal, and nobody waits for its end.
      if (!isHeld) await configs.close(open.n, 'withdrawn');
      else await configs.decide(open.n);
      return;
    }
    if (open.isOrphan) return configs.close(open.n, 'late');
    if (open.base !== this.#n) return;
    if (!isHeld) this.#vote = await this.#judge(open);
    const vote = this.#vote;
    if (vote === null || vote.isSent) return;
    await configs.vote(vote.proposal, vote.refusal);
    vote.isSent = true;
    this.#notify();
  }

  async #judge({ n, by }: OpenProposal): Promise<Vote | null> {
    const { configs, local } = this.#deps;
    await this.#endVote(null);
    const proposal = await configs.proposal(n);
    if (proposal === null) return null;
    const next = await local.prepare({ by: 'cluster', text: proposal.text });
    const opened = next.kind === 'refused' ? next : await next.open();
    if (opened.kind === 'opened') return { proposal: n, refusal: null, opened, isSent: false };
    const refusal = voteOf(opened);
    const who = describeInstance(by);
    const message = `Revision ${proposal.revision}, which ${who} proposes, cannot be used here: `;
    local.events.warned({ code: 'config_said_no', message: `${message}${refusal.detail}` });
    return { proposal: n, refusal, opened: null, isSent: false };
  }

  #logFollowed(): void {
    const { local } = this.#deps;
    const message = `Revision ${local.used()} is in use now, as another svc was asked to.`;
    local.events.noticed({ code: 'config_followed', message });
  }
}

/** The topic on the broadcast log: look at the configuration. */
const topic = 'config';
/** The intervals without news: when nothing and when something is awaited. */
const updateMs = 3_000;
const waitingMs = 500;
/** The same for a caller that waits inside a turn. */
const pauseMs = 200;

/**
 * Decides when to look at the shared configuration: at once when another instance publishes, and at
 * intervals, in case a message was lost. While one look waits for its turn, it begins no other.
 */
class WatchTimer {
  readonly #deps: Pick<AgreedDeps, 'peers' | 'local'>;
  readonly #update: () => Promise<void>;
  readonly #isWaiting: () => boolean;
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | null = null;
  #waits = false;
  #closed = false;
  #wake: () => void = () => {};

  /** @param isWaiting whether the instance waits for news */
  constructor(
    deps: Pick<AgreedDeps, 'peers' | 'local'>,
    update: () => Promise<void>,
    isWaiting: () => boolean,
  ) {
    this.#deps = deps;
    this.#update = update;
    this.#isWaiting = isWaiting;
    this.#unsubscribe = deps.peers.onBroadcast(topic, () => this.#updateSoon());
    this.#updateSoon();
  }

  /** Makes all instances look at once. */
  notify(): void {
    void this.#deps.peers.broadcast(topic, '');
  }

  /** Resolves after a moment, or earlier when another instance publishes. */
  pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, pauseMs);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  /** Ends the looks. A caller in `pause` continues. */
  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wake();
  }

  #updateSoon(): void {
    this.#wake();
    if (this.#waits || this.#closed) return;
    this.#waits = true;
    void this.#deps.local
      .inTurn(async () => {
        this.#waits = false;
        if (!this.#closed) await this.#update();
      })
      .finally(() => this.#schedule());
  }

  #schedule(): void {
    if (this.#closed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const ms = this.#isWaiting() ? waitingMs : updateMs;
    this.#timer = setTimeout(() => this.#updateSoon(), ms).unref();
  }
}

// How an instance is named, and what it refuses.

const instancesMax = 5;

/** Refuses a configuration that other instances cannot use. */
function refusedByInstances(all: readonly InstanceRefusal[]): ConfigRefused {
  const refusals = all.map(({ instance, code: reason, detail }) => {
    const { id, host, version } = instance;
    return { instance: id, host, version, reason, detail };
  });
  const sentences = all.slice(0, instancesMax).map(describeRefusal);
  if (all.length > instancesMax) sentences.push(`So did ${all.length - instancesMax} more.`);
  const detail = `${sentences.join(' ')} ${previousStays}`;
  return { kind: 'refused', code: 'config_refused_by_instance', detail, refusals };
}

function describeRefusal({ instance, code, detail }: InstanceRefusal): string {
  const who = describeInstance(instance);
  if (code !== 'silent') return `${capital(who)} said no: ${detail}`;
  return `${capital(who)} said nothing. ${detail} See whether it still runs, and ask again.`;
}

/** Names this instance in a refusal, since another one may accept the configuration. */
function withName(refused: ConfigRefused, self: NamedInstance): ConfigRefused {
  return { ...refused, detail: `${capital(describeInstance(self))} said no: ${refused.detail}` };
}

/** Leaves out the sentence that the proposer adds anyway. */
function voteOf({ code, detail }: ConfigRefused): VoteRefusal {
  return {
    code,
    detail: detail.endsWith(` ${previousStays}`)
      ? detail.slice(0, -previousStays.length - 1)
      : detail,
  };
}

/** Names an instance for people: `instance 7 (web-2, svc 0.1.0)`. */
function describeInstance({ id, host, version }: NamedInstance): string {
  return `instance ${id} (${[host, `svc ${version}`].filter((one) => one !== '').join(', ')})`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
