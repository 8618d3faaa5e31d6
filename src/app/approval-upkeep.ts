/**
 * Goes on with calls that wait for a yes: what had its time is expired, what is decided and has no
 * message yet gets it, and who may decide elsewhere is asked in their own chat. All of it can be
 * done again and by several instances: of two that decide one succeeds, and a message that was
 * accepted before is known by its key.
 *
 * It looks when something was asked or decided here, when the next one has had its time, and twice
 * a minute for what another instance left; at once when it begins. What it owes, it owes to no
 * message that was buried: that message has settled its approval (pipeline/approvals/settle.ts).
 */
import { kindTypeOf } from '../channels/registry.ts';
import type { Channel } from '../channels/channel.ts';
import type { ChannelType } from '../config/config.ts';
import type { Approval, ApprovalId } from '../domain/approval.ts';
import type { ApprovalWork } from '../pipeline/approvals/state.ts';
import { acceptFollowing, acceptQuestion, expire } from '../pipeline/approvals/decide.ts';
import type { DecidingDeps } from '../pipeline/approvals/decide.ts';
import { isAskedIn } from '../pipeline/approvals/settle.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Peers } from '../cluster/peers.ts';
import { OwedWork } from './background-work.ts';
import type { RunningConfig } from './running-config.ts';

/** For what nothing here tells of. */
const lookMs = 30_000;
/** How long a platform may take to say where somebody is talked to. */
const directMs = 10_000;
/** A question that could not be put is tried again as often as that, until it is decided. */
const againMs = 300_000;
/** What was done is remembered, so that it is not done at each look: at most so many. */
const rememberedMax = 10_000;

export type ApprovalKeepingDeps = Pick<Deps, 'ledger' | 'events' | 'now'> & {
  readonly peers: Pick<Peers, 'holds'>;
  readonly host: {
    readonly plan: Pick<RunningConfig, 'brains' | 'channels'> | null;
    readonly approvals: ApprovalWork;
  };
};

/** @returns ends it */
export function keepApprovals(options: ApprovalKeepingDeps): () => void {
  const keeping = new ApprovalKeeping(options);
  keeping.begin();
  return () => keeping.end();
}

type Question = {
  readonly approval: Approval;
  readonly approver: Approver;
  readonly key: string;
  readonly isFirst: boolean;
};
type Approver = { readonly name: string; readonly user: string; readonly type: ChannelType };

class ApprovalKeeping {
  readonly #options: ApprovalKeepingDeps;
  readonly #deps: DecidingDeps;
  /** Questions by approval and approver: when each may be put again; null: it is put. */
  readonly #put = new Map<string, number | null>();
  /** Those whose message was accepted. */
  readonly #followed = new Set<ApprovalId>();
  readonly #work: OwedWork;
  #asking: Promise<void> = Promise.resolve();

  constructor(options: ApprovalKeepingDeps) {
    this.#options = options;
    const { ledger, events, now, host } = options;
    this.#deps = { ledger, events, now, approvals: host.approvals };
    // What cannot be read or written now is owed at the next look.
    this.#work = new OwedWork({
      look: () => this.#look(),
      failed: (error) => events.faulted({ where: 'what waits for a yes', error }),
      againMs: lookMs,
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

  /** @returns in how many milliseconds something is due */
  async #look(): Promise<number> {
    const [deps, { peers }] = [this.#deps, this.#options];
    const { approvals } = deps.ledger;
    const now = deps.now();
    const waiting = await approvals.waiting();
    const isJanitor = peers.holds('keeper');
    const late = isJanitor ? waiting.filter(({ expiresAt }) => expiresAt <= now) : [];
    for (const approval of late) await expire(deps, approval);
    if (isJanitor) {
      const decided = (await approvals.owed(now)).filter(({ state }) => state !== 'waiting');
      for (const approval of decided) await this.#follow(approval);
    }
    const open = waiting.filter(({ expiresAt }) => expiresAt > now);
    deps.events.approvalsWait(open.length);
    this.#ask(open, now);
    const nextAt = Math.min(...open.map(({ expiresAt }) => expiresAt));
    return Math.max(1, Math.min(lookMs, nextAt - now));
  }

  /**
   * Once in this process: its message may wait for long, in a conversation that is held. One that
   * was decided here has it already, and accepting it again changes nothing.
   */
  async #follow(approval: Approval): Promise<void> {
    const { id } = approval;
    if (this.#followed.has(id) || !(await acceptFollowing(this.#deps, approval))) return;
    this.#followed.add(id);
    const [oldest] = this.#followed;
    if (this.#followed.size > rememberedMax && oldest !== undefined) this.#followed.delete(oldest);
  }

  /** Platforms are asked one after the other, and hold up nothing else. */
  #ask(open: readonly Approval[], now: number): void {
    for (const approval of open) {
      for (const approver of this.#approversOf(approval)) {
        const key = `${approval.id} ${approver.name}`;
        const againAt = this.#put.get(key);
        if (againAt === null || (againAt !== undefined && againAt > now)) continue;
        const isFirst = againAt === undefined;
        this.#remember(key, now + againMs);
        const questioned = { approval, approver, key, isFirst };
        this.#asking = this.#asking.then(() => this.#putTo(questioned));
      }
    }
  }

  /** Never rejects. */
  async #putTo({ approval, approver, key, isFirst }: Question): Promise<void> {
    const deps = this.#deps;
    const signal = AbortSignal.any([this.#work.over, AbortSignal.timeout(directMs)]);
    try {
      const where = (await this.#channelOf(approver)?.direct?.(approver.user, signal)) ?? null;
      if (this.#work.over.aborted) return;
      if (where === null) return this.#unput(approver, isFirst);
      const isThere = isAskedIn(approval, { channel: where.address.channel, ...where });
      if (isThere || (await acceptQuestion(deps, approval, where, approver))) {
        this.#remember(key, null);
      }
    } catch (error) {
      deps.events.faulted({ where: 'a question to an approver', error });
    }
  }

  #unput({ type }: Approver, isFirst: boolean): void {
    if (!isFirst) return;
    const message = `Somebody who may decide on ${type} could not be asked in a chat of their own.`;
    this.#deps.events.warned({ code: 'approver_not_asked', message });
  }

  /** Those of the plan in use; who asked sees the question where it was asked. */
  #approversOf({ brain, channel, sender }: Approval): readonly Approver[] {
    const names = this.#options.host.plan?.brains.get(brain)?.agent?.asking?.approvers ?? [];
    const asker = `${kindTypeOf(channel)}:${sender.id}`;
    return names.flatMap((name) => {
      const colon = name.indexOf(':');
      const [type, user] = [name.slice(0, colon) as ChannelType, name.slice(colon + 1)];
      return name === asker ? [] : [{ name, user, type }];
    });
  }

  #channelOf({ type }: Approver): Channel | undefined {
    return this.#options.host.plan?.channels.find((one) => one.type === type)?.channel;
  }

  #remember(key: string, againAt: number | null): void {
    this.#put.delete(key);
    this.#put.set(key, againAt);
    const [oldest] = this.#put.keys();
    if (this.#put.size > rememberedMax && oldest !== undefined) this.#put.delete(oldest);
  }
}
