/**
 * Follows the shared configuration in one instance. It votes on each proposal, keeps an accepted
 * one open until the proposal ends, and uses the shared configuration.
 *
 * `n` is the number of the configuration in use here. An instance that cannot use the shared one
 * tries again for a few seconds. Then it is behind: it ends, and its next start says why.
 */
import type { WarningStatus } from '../../admin/admin.ts';
import type { ConfigRefused } from '../../config/config-control.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type {
  ConfigsSeen,
  NamedInstance,
  OpenProposal,
  SharedConfigs,
  VoteRefusal,
} from '../../cluster/backend.ts';
import type { Installer, OpenedConfig } from './config-store.ts';
import { withStorageOf, type OwnFile } from './own-file.ts';
import type { NextConfig } from './prepare.ts';
import { describeInstance, voteOf } from '../../config/refusals.ts';
import type { Peers } from '../../cluster/peers.ts';

export type ConfigWatcherDeps = {
  readonly installer: Installer;
  readonly own: OwnFile;
  readonly configs: SharedConfigs;
  readonly steady: () => SteadyTime;
  /** The number of the configuration in use here. */
  readonly n: number;
  /** Makes the other instances look at once. */
  readonly notify: () => void;
  /**
   * Called when this instance must end.
   * @param why a sentence
   */
  readonly onBehind: (why: string) => void;
};

/** How long an instance tries to use the shared configuration. */
const behindMs = 5_000;
/** Others get no warning in the first seconds after a change. */
const othersMs = 10_000;

/** This instance's vote on a proposal, sent or not. */
type Vote = {
  readonly proposal: number;
  readonly refusal: VoteRefusal | null;
  /** null: it cannot be used here. */
  readonly opened: OpenedConfig | null;
  isSent: boolean;
};

type Stuck = { readonly since: SteadyTime; readonly why: string };

/** Call its methods one after the other, in the installer's turn. */
export class ConfigWatcher {
  readonly #deps: ConfigWatcherDeps;
  #n: number;
  /** The number that the others know to be in use here; null: none. */
  #reported: number | null = null;
  #vote: Vote | null = null;
  #stuck: Stuck | null = null;
  #behind: readonly NamedInstance[] = [];

  constructor(deps: ConfigWatcherDeps) {
    this.#deps = deps;
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

  get warnings(): readonly WarningStatus[] {
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
    this.#behind = seen.ageMs > othersMs ? seen.behind : [];
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
    const { configs, installer } = this.#deps;
    // Nothing else can open while the vote's configuration is open.
    await this.#endVote(null);
    const current = await configs.current();
    const next = await this.#prepare(current.text);
    const applied = next.kind === 'refused' ? next : await installer.use(next);
    if (applied.kind === 'refused') return this.#isBehind(applied);
    this.#n = current.n;
    this.#stuck = null;
    this.#logFollowed();
  }

  #isBehind(refused: ConfigRefused): void {
    const { steady, installer, onBehind } = this.#deps;
    if (installer.stop.aborted) return;
    const why = voteOf(refused).detail;
    const since = this.#stuck?.since ?? steady();
    if (this.#stuck === null) {
      const message = `The configuration in use cannot be taken here: ${why}`;
      installer.events.warned({ code: 'config_behind', message });
    }
    this.#stuck = { since, why };
    if (steady() - since >= behindMs) onBehind(why);
  }

  async #answer(open: OpenProposal): Promise<void> {
    const { configs, notify } = this.#deps;
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
    notify();
  }

  async #judge({ n, by }: OpenProposal): Promise<Vote | null> {
    const { configs, installer } = this.#deps;
    await this.#endVote(null);
    const proposal = await configs.proposal(n);
    if (proposal === null) return null;
    const next = await this.#prepare(proposal.text);
    const opened = next.kind === 'refused' ? next : await installer.open(next);
    if (opened.kind === 'opened') return { proposal: n, refusal: null, opened, isSent: false };
    const refusal = voteOf(opened);
    const who = describeInstance(by);
    const message = `Revision ${proposal.revision}, which ${who} proposes, cannot be used here: `;
    installer.events.warned({ code: 'config_said_no', message: `${message}${refusal.detail}` });
    return { proposal: n, refusal, opened: null, isSent: false };
  }

  async #prepare(text: string): Promise<NextConfig | ConfigRefused> {
    const { installer, own } = this.#deps;
    const inspection = withStorageOf(installer.used(), await own.inspect(text));
    return installer.prepare(inspection, { mayAskWith: () => true, heldBack: own.heldBack(null) });
  }

  #logFollowed(): void {
    const { installer } = this.#deps;
    const { revision } = installer.used();
    const message = `Revision ${revision} is in use now, as another svc was asked to.`;
    installer.events.noticed({ code: 'config_followed', message });
  }
}

/**
 * Decides when to look at the shared configuration: at once when another instance publishes, and at
 * intervals, in case a message was lost. One look that waits for its turn is enough for all.
 */
type WatchTimerDeps = {
  readonly peers: Pick<Peers, 'onBroadcast' | 'broadcast'>;
  readonly inTurn: (act: () => Promise<void>) => Promise<void>;
  readonly update: () => Promise<void>;
  /** Whether the instance waits for news. */
  readonly isWaiting: () => boolean;
};

/** The topic on the broadcast log: look at the configuration. */
const topic = 'config';
/** The intervals without news: when nothing and when something is awaited. */
const updateMs = 3_000;
const waitingMs = 500;
/** The same for a caller that waits inside a turn. */
const pauseMs = 200;

export class WatchTimer {
  readonly #deps: WatchTimerDeps;
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | null = null;
  #waits = false;
  #closed = false;
  #wake: () => void = () => {};

  constructor(deps: WatchTimerDeps) {
    this.#deps = deps;
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
    const { inTurn, update } = this.#deps;
    void inTurn(async () => {
      this.#waits = false;
      if (!this.#closed) await update();
    }).finally(() => this.#schedule());
  }

  #schedule(): void {
    if (this.#closed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const ms = this.#deps.isWaiting() ? waitingMs : updateMs;
    this.#timer = setTimeout(() => this.#updateSoon(), ms).unref();
  }
}
