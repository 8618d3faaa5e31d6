/**
 * Moves approvals on: expires them, accepts the follow-up message of each decided one, and asks
 * approvers in their own chats. Several processes may do all of this, and may do it again. If two
 * decide, one succeeds. A message that was accepted before is recognised by its key.
 *
 * A pass runs at the start, after a request or a decision here, and when the next approval expires.
 * It also runs twice a minute, for work that another process left. An approval whose follow-up
 * message became a dead letter is settled already (pipeline/approvals/decide.ts).
 */
import { dayMs } from '../lib/durations.ts';
import { registeredNameOf } from '../domain/ids.ts';
import { strictestOf } from '../pipeline/route.ts';
import type { Channel, Receipt } from '../channels/channel.ts';
import type { Approval } from '../domain/approval.ts';
import type { ApprovalId } from '../domain/ids.ts';
import type { ApprovalWork } from '../pipeline/approvals/request.ts';
import {
  acceptFollowing,
  acceptQuestion,
  expire,
  isAskedIn,
  type DecidingDeps,
} from '../pipeline/approvals/decide.ts';
import type { Deps } from '../pipeline/deps.ts';
import { janitorLease, type Coordination } from '../cluster/cluster.ts';
import type { RunningConfig, RoutedChannel } from './running-config.ts';
import type { Inbound } from '../domain/message.ts';
import type { Pairings, Unwelcomed } from '../pipeline/pairing/pairing.ts';
import { setNewest } from '../lib/cache.ts';

/** How often a pass runs, for changes that nobody announces here. */
const passMs = 30_000;
/** How long a platform may take to name a person's own chat. */
const directChatMs = 10_000;
/** How long to wait before asking an approver again after a failed try. */
const askAgainMs = 300_000;
/** How many finished steps to remember, so that a pass does not repeat them. */
const rememberedMax = 10_000;

export type ApprovalKeepingDeps = Pick<Deps, 'ledger' | 'events' | 'now'> & {
  readonly cluster: Pick<Coordination, 'holds'>;
  readonly runtime: {
    readonly runningConfig: Pick<RunningConfig, 'brains' | 'channels'> | null;
    readonly approvals: ApprovalWork;
  };
};

/** @returns a function that ends it */
export function keepApprovals(options: ApprovalKeepingDeps): () => void {
  const keeping = new ApprovalUpkeep(options);
  keeping.begin();
  return () => keeping.end();
}

type Question = {
  readonly approval: Approval;
  readonly approver: Approver;
  readonly key: string;
  readonly isFirst: boolean;
};
type Approver = { readonly name: string; readonly user: string; readonly on: string };

class ApprovalUpkeep {
  readonly #options: ApprovalKeepingDeps;
  readonly #deps: DecidingDeps;
  /** Questions by approval and approver: when each may be sent again; null: it is sent. */
  readonly #questionsSent = new Map<string, number | null>();
  /** Approvals whose follow-up message is accepted. */
  readonly #followed = new Set<ApprovalId>();
  readonly #work: BackgroundWork;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: ApprovalKeepingDeps) {
    this.#options = options;
    const { ledger, events, now, runtime } = options;
    this.#deps = { ledger, events, now, approvals: runtime.approvals };
    // A pass that fails to read or write leaves its work to the next one.
    this.#work = new BackgroundWork({
      pass: () => this.#pass(),
      failed: (error) => events.faulted({ where: 'what waits for a yes', error }),
      againMs: passMs,
    });
  }

  begin(): void {
    this.#deps.approvals.onWake(this.#work.wake);
    this.#work.wake();
  }

  end(): void {
    this.#deps.approvals.onWake(null);
    this.#work.end();
  }

  /** @returns in how many milliseconds the next approval is due */
  async #pass(): Promise<number> {
    const deps = this.#deps;
    const { cluster } = this.#options;
    const { approvals } = deps.ledger;
    const now = deps.now();
    const waiting = await approvals.waiting();
    const isJanitor = cluster.holds(janitorLease);
    const expired = isJanitor ? waiting.filter(({ expiresAt }) => expiresAt <= now) : [];
    for (const approval of expired) await expire(deps, approval);
    if (isJanitor) {
      const decided = (await approvals.owed(now)).filter(({ state }) => state !== 'waiting');
      for (const approval of decided) await this.#acceptFollowUp(approval);
    }
    const open = waiting.filter(({ expiresAt }) => expiresAt > now);
    const oldestAt = open.length === 0 ? null : Math.min(...open.map(({ askedAt }) => askedAt));
    deps.events.approvalsWait(open.length, oldestAt);
    this.#ask(open, now);
    const nextAt = Math.min(...open.map(({ expiresAt }) => expiresAt));
    return Math.max(1, Math.min(passMs, nextAt - now));
  }

  /**
   * Accepts the follow-up message once in this process, since the message may wait long in a
   * conversation that an operator took over. An approval that was decided here has its message
   * already. Accepting it again changes nothing.
   */
  async #acceptFollowUp(approval: Approval): Promise<void> {
    const { id } = approval;
    if (this.#followed.has(id) || !(await acceptFollowing(this.#deps, approval))) return;
    this.#followed.add(id);
    const [oldest] = this.#followed;
    if (this.#followed.size > rememberedMax && oldest !== undefined) this.#followed.delete(oldest);
  }

  /** Asks platforms one after the other, without holding up anything else. */
  #ask(open: readonly Approval[], now: number): void {
    for (const approval of open) {
      for (const approver of this.#approversOf(approval)) {
        const key = `${approval.id} ${approver.name}`;
        const againAt = this.#questionsSent.get(key);
        if (againAt === null || (againAt !== undefined && againAt > now)) continue;
        const isFirst = againAt === undefined;
        this.#remember(key, now + askAgainMs);
        const question = { approval, approver, key, isFirst };
        this.#sending = this.#sending.then(() => this.#sendQuestion(question));
      }
    }
  }

  /** Never rejects. */
  async #sendQuestion({ approval, approver, key, isFirst }: Question): Promise<void> {
    const deps = this.#deps;
    const signal = AbortSignal.any([this.#work.over, AbortSignal.timeout(directChatMs)]);
    try {
      const where = (await this.#channelOf(approver)?.direct?.(approver.user, signal)) ?? null;
      if (this.#work.over.aborted) return;
      if (where === null) return this.#warnNotAsked(approver, isFirst);
      const isAsked = isAskedIn(approval, { channel: where.address.channel, ...where });
      if (isAsked || (await acceptQuestion(deps, approval, where, approver))) {
        this.#remember(key, null);
      }
    } catch (error) {
      deps.events.faulted({ where: 'a question to an approver', error });
    }
  }

  #warnNotAsked({ on }: Approver, isFirst: boolean): void {
    if (!isFirst) return;
    const message = `Somebody who may decide on ${on} could not be asked in a chat of their own.`;
    this.#deps.events.warned({ code: 'approver_not_asked', message });
  }

  /**
   * The approvers in the running configuration, without the sender, who sees the question in the
   * chat.
   */
  #approversOf({ brain, channel, sender }: Approval): readonly Approver[] {
    const names =
      this.#options.runtime.runningConfig?.brains.get(brain)?.agent?.asking?.approvers ?? [];
    const asker = `${registeredNameOf(channel)}:${sender.id}`;
    return names.flatMap((name) => {
      const colon = name.indexOf(':');
      const on = name.slice(0, colon);
      const user = name.slice(colon + 1);
      return name === asker ? [] : [{ name, user, on }];
    });
  }

  #channelOf({ on }: Approver): Channel | undefined {
    return this.#options.runtime.runningConfig?.channels.find(({ name }) => name === on)?.channel;
  }

  #remember(key: string, againAt: number | null): void {
    setNewest(this.#questionsSent, key, againAt, rememberedMax);
  }
}

/**
 * Runs passes over work that others leave: at once, on each wake-up, and when the last pass said
 * that work is due. Passes do not overlap; a wake-up during a pass starts one more after it.
 */
type BackgroundWorkDeps = {
  /** @returns in how many milliseconds to run again at the latest */
  readonly pass: () => Promise<number>;
  /** Called after a failed pass, unless the work has ended. The next pass comes after `againMs`. */
  readonly failed: (error: unknown) => void;
  readonly againMs: number;
};

export class BackgroundWork {
  readonly #deps: BackgroundWorkDeps;
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #isRunning = false;
  #isWoken = false;

  constructor(deps: BackgroundWorkDeps) {
    this.#deps = deps;
  }

  /** Aborts when the work ends. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  readonly wake = (): void => void this.#passSoon();

  end(): void {
    this.#over.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #passSoon(): Promise<void> {
    this.#isWoken = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    let dueMs = this.#deps.againMs;
    while (this.#isWoken && !this.over.aborted) {
      this.#isWoken = false;
      dueMs = await this.#pass();
    }
    this.#isRunning = false;
    if (!this.over.aborted) this.#timer = setTimeout(this.wake, dueMs).unref();
  }

  /** Never rejects. */
  async #pass(): Promise<number> {
    const { pass, failed, againMs } = this.#deps;
    try {
      return await pass();
    } catch (error) {
      if (!this.over.aborted) failed(error);
      return againMs;
    }
  }
}

/**
 * Welcomes each person that an operator let in, in the person's own chat: once, even across
 * restarts and processes. The list of people to welcome is kept with the pairings.
 *
 * A pass runs when somebody is let in here, and twice a minute. The latter finds people whom
 * another process or a command let in, and people whom svc could not reach before.
 */
const welcomePassMs = 30_000;
/** How long a platform may take to name a person's own chat. */
const welcomeChatMs = 10_000;
/** An admission older than this needs no welcome. */
const welcomeAgeMsMax = dayMs;

export type WelcomingDeps = Pick<Deps, 'events' | 'now'> & {
  readonly runtime: {
    readonly runningConfig: Pick<RunningConfig, 'channels'> | null;
    readonly pairings: Pairings;
  };
};

/** @returns a function that ends it */
export function keepWelcoming(deps: WelcomingDeps): () => void {
  const welcoming = new Welcoming(deps);
  welcoming.begin();
  return () => welcoming.end();
}

class Welcoming {
  readonly #deps: WelcomingDeps;
  readonly #work: BackgroundWork;

  constructor(deps: WelcomingDeps) {
    this.#deps = deps;
    this.#work = new BackgroundWork({
      pass: () => this.#pass(),
      failed: (error) => deps.events.faulted({ where: 'a welcome', error }),
      againMs: welcomePassMs,
    });
  }

  begin(): void {
    this.#deps.runtime.pairings.onAdmitted = this.#work.wake;
    this.#work.wake();
  }

  end(): void {
    this.#deps.runtime.pairings.onAdmitted = null;
    this.#work.end();
  }

  async #pass(): Promise<number> {
    const { runtime } = this.#deps;
    for (const planned of runtime.runningConfig?.channels ?? []) {
      if (planned.access?.pairing !== true) continue;
      for (const one of await runtime.pairings.unwelcomed(planned.name))
        await this.#welcome(one, planned);
    }
    return welcomePassMs;
  }

  async #welcome(one: Unwelcomed, planned: RoutedChannel): Promise<void> {
    const { runtime, events, now } = this.#deps;
    const { sender, name, at } = one;
    if (now() - at > welcomeAgeMsMax) return runtime.pairings.welcome(one, null);
    const signal = AbortSignal.any([this.#work.over, AbortSignal.timeout(welcomeChatMs)]);
    const where = (await planned.channel.direct?.(sender, signal)) ?? null;
    if (where === null || this.#work.over.aborted) return;
    const { channel } = where.address;
    const message: Inbound = {
      channel,
      ...where,
      sender: { id: sender, name },
      text: '',
      media: null,
      dedupeKey: `welcome:${sender}:${at}`,
      welcome: true,
      sensitivity: strictestOf(planned),
    };
    const accepted = ({ id, duplicate }: Receipt): void =>
      events.messageAccepted({ channel, id, duplicate });
    await runtime.pairings.welcome(one, { message, accepted });
  }
}
