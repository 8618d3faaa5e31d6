/**
 * Follows the shared configuration in one instance: says to each proposal whether it can be used
 * here, holds what it needs open until the proposal has an end, and takes what is in use.
 *
 * It has in use what it knows as `n`. An instance that cannot take what is in use tries again for a
 * few seconds, and then is behind: it ends, and its next start says why.
 */
import type { WarningStatus } from '../../admin/admin.ts';
import type { ConfigRefused } from '../../admin/config-control.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type {
  ConfigsSeen,
  NamedInstance,
  OpenProposal,
  SharedConfigs,
  VoteRefusal,
} from '../../cluster/shared-configs.ts';
import type { Installer, OpenedConfig } from './config-store.ts';
import { withStorageOf, type OwnFile } from './own-file.ts';
import type { NextConfig } from './prepare.ts';
import { describeInstance, voteOf } from './refusals.ts';
import type { Peers } from '../../cluster/peers.ts';

export type ConfigWatcherDeps = {
  readonly installer: Installer;
  readonly own: OwnFile;
  readonly configs: SharedConfigs;
  readonly steady: () => SteadyTime;
  /** The number of the one in use here. */
  readonly n: number;
  /** Has the others look at once. */
  readonly tell: () => void;
  /** This instance ends. @param why a sentence */
  readonly onBehind: (why: string) => void;
};

/** For so long an instance tries to take what is in use. */
const behindMs = 5_000;
/** An instance that has just been told is no news. */
const othersMs = 10_000;

/** What this instance said, or is about to say, to a proposal. */
type Vote = {
  readonly proposal: number;
  readonly refusal: VoteRefusal | null;
  /** null: it cannot be used here. */
  readonly opened: OpenedConfig | null;
  isSent: boolean;
};

type Stuck = { readonly since: SteadyTime; readonly why: string };

/** All methods are called one after the other, in the installer's turn. */
export class ConfigWatcher {
  readonly #deps: ConfigWatcherDeps;
  #n: number;
  /** What the others know of it; null: nothing. */
  #told: number | null = null;
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

  /** Whether something is held open for a proposal. */
  get isHolding(): boolean {
    return this.#vote?.opened != null;
  }

  /** Whether what is in use cannot be taken here. */
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
  async look(): Promise<ConfigsSeen> {
    const { configs } = this.#deps;
    await this.#tellUse();
    const seen = await configs.look(this.#vote?.proposal ?? null);
    if (seen.end !== null) await this.#endVote(seen.end.kind === 'used' ? seen.end.n : null);
    if (seen.current > this.#n) await this.#catchUp();
    if (seen.open !== null) await this.#answer(seen.open);
    this.#behind = seen.ageMs > othersMs ? seen.behind : [];
    await this.#tellUse();
    return seen;
  }

  /** It was proposed here, and its end is not known yet. */
  hold(proposal: number, opened: OpenedConfig): void {
    this.#vote = { proposal, refusal: null, opened, isSent: true };
  }

  /** It is in use here. */
  async took(n: number): Promise<void> {
    this.#n = n;
    this.#stuck = null;
    await this.#tellUse();
  }

  /** Is asked no more. */
  async leave(): Promise<void> {
    await this.#vote?.opened?.drop();
    this.#vote = null;
    this.#told = this.#n;
    await this.#deps.configs.uses(null);
  }

  async #tellUse(): Promise<void> {
    if (this.#told === this.#n) return;
    await this.#deps.configs.uses(this.#n);
    this.#told = this.#n;
  }

  /** @param n the number under which it is in use; null: it is not */
  async #endVote(n: number | null): Promise<void> {
    const vote = this.#vote;
    this.#vote = null;
    if (n === null || vote?.opened == null) return vote?.opened?.drop();
    if (vote.opened.use().kind === 'refused') return;
    this.#n = n;
    this.#sayFollowed();
  }

  async #catchUp(): Promise<void> {
    const { configs, installer } = this.#deps;
    // Nothing else can be opened while that is.
    await this.#endVote(null);
    const current = await configs.current();
    const next = await this.#prepare(current.text);
    const applied = next.kind === 'refused' ? next : await installer.use(next);
    if (applied.kind === 'refused') return this.#isBehind(applied);
    this.#n = current.n;
    this.#stuck = null;
    this.#sayFollowed();
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
    const { configs, tell } = this.#deps;
    const isHeld = this.#vote?.proposal === open.n;
    if (open.by.id === configs.instance) {
      // Of another one the answer was lost, and nobody waits for its end.
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
    tell();
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

  #sayFollowed(): void {
    const { installer } = this.#deps;
    const { revision } = installer.used();
    const message = `Revision ${revision} is in use now, as another svc was asked to.`;
    installer.events.noticed({ code: 'config_followed', message });
  }
}

/**
 * When to look at what instances share: as soon as one of them tells, and every now and then, so
 * that nothing hangs on a word that was lost. One look that waits for its turn is enough for all.
 */
type WatchTimerDeps = {
  readonly peers: Pick<Peers, 'on' | 'tell'>;
  readonly inTurn: (act: () => Promise<void>) => Promise<void>;
  readonly look: () => Promise<void>;
  /** Whether something is waited for. */
  readonly isWaiting: () => boolean;
};

/** Said on the board: look at the configuration. */
const kind = 'config';
/** How often it looks when nobody tells anything: without and with something to wait for. */
const lookMs = 3_000;
const waitingMs = 500;
/** The same of who waits in a turn. */
const pauseMs = 200;

export class WatchTimer {
  readonly #deps: WatchTimerDeps;
  readonly #unhear: () => void;
  #timer: NodeJS.Timeout | null = null;
  #waits = false;
  #closed = false;
  #wake: () => void = () => {};

  constructor(deps: WatchTimerDeps) {
    this.#deps = deps;
    this.#unhear = deps.peers.on(kind, () => this.#heard());
    this.#heard();
  }

  /** Has all instances look at once. */
  tell(): void {
    void this.#deps.peers.tell(kind, '');
  }

  /** Resolves a moment later, or when somebody has told. */
  pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, pauseMs);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  /** From then on nobody looks; who pauses goes on. */
  close(): void {
    this.#closed = true;
    this.#unhear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wake();
  }

  #heard(): void {
    this.#wake();
    if (this.#waits || this.#closed) return;
    this.#waits = true;
    const { inTurn, look } = this.#deps;
    void inTurn(async () => {
      this.#waits = false;
      if (!this.#closed) await look();
    }).finally(() => this.#schedule());
  }

  #schedule(): void {
    if (this.#closed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const ms = this.#deps.isWaiting() ? waitingMs : lookMs;
    this.#timer = setTimeout(() => this.#heard(), ms).unref();
  }
}
