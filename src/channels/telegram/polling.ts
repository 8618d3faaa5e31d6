/**
 * The poll loop. It asks Telegram for its own name, deletes a webhook, and then polls for updates,
 * never twice at a time.
 *
 * Telegram forgets an update when a later poll sends a higher offset. So the offset never passes an
 * update that is not safe in the ledger, except for the limits in held-updates.ts. Telegram begins
 * new random update ids after a quiet week. Therefore svc keeps no offset over a restart, and drops
 * it when Telegram has no more updates. It recognises messages by chat and message id.
 *
 * States: introducing → polling ⇄ pausing. A conflict leads back to introducing. After a refused
 * token the loop waits for its signal to abort.
 */
import { aborted } from '../../lib/stop.ts';
import type { Events } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { fullJitter, pause } from '../../lib/backoff.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Receive, Receipt, HealthState } from '../channel.ts';
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import { Albums, mergingPauseMs, mayBePart, safeOf } from './albums.ts';
import { refusesToken, type BotApi, type CallResult } from './bot-api.ts';
import type { BestEffortCalls } from './best-effort-calls.ts';
import { withoutIgnoredEdits, updateTypesOf } from './edits.ts';
import { HeldUpdates } from './held-updates.ts';
import type { Bot } from './people.ts';
import { acknowledge } from './presses.ts';
import { conflictReason, reasonOf, refusedToken } from './reasons.ts';
import { inboundOf, parseBot, parseUpdates, type Update } from './wire.ts';

/** The most updates of one answer: https://core.telegram.org/bots/api#getupdates. */
const updatesMax = 100;
/** Short, since svc notices a silent platform only when a poll ends. */
const longPollSeconds = 8;

export type PollTimes = {
  /** A poll that has not ended by then hangs on a dead connection. */
  readonly pollMs: number;
  readonly callMs: number;
  /** The pause between two polls while updates are held. */
  readonly heldPauseMs: number;
  readonly failurePauseMs: { readonly baseMs: number; readonly capMs: number };
  readonly conflictPauseMs: { readonly baseMs: number; readonly capMs: number };
  /** The limit of the last poll, which only confirms. */
  readonly farewellMs: number;
};

export const pollTimes: PollTimes = {
  pollMs: 12_000,
  callMs: 15_000,
  heldPauseMs: 1_000,
  failurePauseMs: { baseMs: 1_000, capMs: 60_000 },
  conflictPauseMs: { baseMs: 5_000, capMs: 60_000 },
  farewellMs: 2_000,
};

/** A poll that was open this long has reached Telegram, which confirms on arrival. */
const arrivedMs = 1_000;

export type PollerDeps = {
  readonly channel: ChannelKey;
  /** The name of the token's variable, for messages to people. */
  readonly tokenName: string;
  readonly api: BotApi;
  readonly bestEffort: BestEffortCalls;
  readonly health: HealthState;
  /** Null: the channel ignores edits, and does not ask for them. */
  readonly questions: RecentQuestions | null;
  /** Messages of one person within this time are merged; 0: they are not. */
  readonly gatherMs: number;
  readonly events: Pick<Events, 'warned' | 'confirmedEarly'>;
  readonly times: PollTimes;
  readonly steady: () => SteadyTime;
  readonly random: () => number;
};

export class Poller {
  readonly #deps: PollerDeps;
  readonly #receive: Receive;
  readonly #signal: AbortSignal;
  readonly #held: HeldUpdates;
  readonly #albums = new Albums();
  #bot: Bot | null = null;
  /**
   * A poll has ended since the introduction. The first poll does not wait, so that this shows soon.
   */
  #isAnswered = false;
  /** Failed calls since the last good one. */
  #failures = 0;
  #conflicts = 0;
  /** The offset of the last completed poll. */
  #confirmed: number | null = null;
  /** How many updates go to the ledger at once: fewer after the ledger was full. */
  #partMax = updatesMax;

  constructor(deps: PollerDeps, receive: Receive, signal: AbortSignal) {
    this.#deps = deps;
    this.#receive = receive;
    this.#signal = signal;
    this.#held = new HeldUpdates(deps.steady);
  }

  /** Takes messages in until the signal aborts. */
  async run(): Promise<void> {
    const { health } = this.#deps;
    while (!this.#signal.aborted) {
      const bot = await this.#introduce();
      const step = bot === null ? 'pause' : await this.#poll(bot);
      if (step === 'over') await aborted(this.#signal);
    }
    await this.#confirmLast();
    if (health.health.state !== 'failed') health.become('stopped');
  }

  /** Asks for the bot's own name and deletes a webhook. @returns null: try again */
  async #introduce(): Promise<Bot | null> {
    const { callMs } = this.#deps.times;
    const { api } = this.#deps;
    this.#isAnswered = false;
    if (this.#bot === null) {
      const me = await api.call('getMe', {}, callMs, this.#signal);
      this.#bot = me.kind === 'done' ? parseBot(me.result) : null;
      if (this.#bot === null) return this.#failed(me);
    }
    const options = { drop_pending_updates: false };
    const away = await api.call('deleteWebhook', options, callMs, this.#signal);
    if (away.kind !== 'done') return this.#failed(away);
    return this.#bot;
  }

  async #failed(result: CallResult): Promise<null> {
    if ((await this.#recover(result)) === 'over') await aborted(this.#signal);
    return null;
  }

  async #poll(bot: Bot): Promise<'introduce' | 'over'> {
    for (;;) {
      await this.#waitForRoom();
      if (this.#signal.aborted) return 'introduce';
      const begunAt = this.#deps.steady();
      const waits = this.#held.isEmpty && this.#isAnswered;
      const result = await this.#getUpdates(waits ? longPollSeconds : 0);
      if (this.#signal.aborted) return 'introduce';
      if (result.kind !== 'done') {
        const next = await this.#recover(result);
        if (next !== 'poll') return next;
        continue;
      }
      this.#completed();
      const updates = this.#albums.settle(parseUpdates(result.result, bot));
      if (updates.length === 0) {
        this.#held.confirmed();
        if (waits) await this.#pauseAfterEarlyEnd(begunAt);
      }
      const fresh = updates.filter(({ id }) => !this.#held.has(id));
      await this.#take(fresh);
      await this.#settle(fresh.some((update) => mayBePart(update, this.#deps.gatherMs)));
    }
  }

  /**
   * Pauses if a poll ended at once, so that svc does not flood a server that ignores the timeout.
   */
  async #pauseAfterEarlyEnd(begunAt: SteadyTime): Promise<void> {
    const { steady, times } = this.#deps;
    if (steady() - begunAt < times.heldPauseMs / 2) await pause(times.heldPauseMs, this.#signal);
  }

  async #getUpdates(timeout: number): Promise<CallResult> {
    const { api, times, steady } = this.#deps;
    const { offset } = this.#held;
    const begunAt = steady();
    const result = await api.call(
      'getUpdates',
      {
        ...(offset === null ? {} : { offset }),
        limit: updatesMax,
        timeout,
        allowed_updates: updateTypesOf(this.#deps.questions),
      },
      times.pollMs,
      this.#signal,
    );
    const hasArrived = this.#signal.aborted && steady() - begunAt >= arrivedMs;
    if (result.kind === 'done' || hasArrived) this.#confirmed = offset;
    return result;
  }

  #completed(): void {
    this.#isAnswered = true;
    this.#failures = 0;
    this.#conflicts = 0;
    this.#deps.health.seen();
    this.#deps.health.become('up');
  }

  async #waitForRoom(): Promise<void> {
    if (this.#receive.room() > 0 || this.#signal.aborted) return;
    this.#deps.health.become('degraded', 'there is no room: it polls again when there is');
    await this.#receive.whenRoom(this.#signal);
  }

  /**
   * Hands updates to the ledger. svc does not confirm refused ones, so they come again with a later
   * poll.
   */
  async #take(updates: readonly Update[]): Promise<void> {
    for (let from = 0; from < updates.length && !this.#signal.aborted;) {
      const part = withoutIgnoredEdits(
        updates.slice(from, from + this.#partMax),
        this.#deps.questions,
      );
      const messages = part.flatMap(({ message }) => (message === null ? [] : [message]));
      const batch = messages.map((message) => inboundOf(this.#deps.channel, message));
      const handled = batch.length === 0 ? nothing : await this.#receive(batch);
      if (handled.kind === 'accepted') {
        this.#hold(part, handled.receipts);
        from += part.length;
        this.#partMax = Math.min(updatesMax, this.#partMax * 2);
      } else if (handled.reason === 'full' && this.#partMax > 1) {
        this.#partMax = Math.ceil(Math.min(this.#partMax, part.length) / 2);
        if (part.length === 1) this.#partMax = 1;
      } else {
        return pause(handled.retryAfterMs, this.#signal);
      }
    }
  }

  #hold(part: readonly Update[], receipts: readonly (Receipt | null)[]): void {
    let at = 0;
    for (const update of part) {
      const { id, message, press, edits } = update;
      const receipt = message === null ? null : receipts[at++]!;
      if (message !== null && press === undefined) {
        this.#deps.questions?.noteReceipt(message.dedupeKey, edits, receipt);
      }
      if (receipt !== null && press !== undefined) {
        acknowledge(this.#deps, press, this.#signal);
      }
      this.#held.add(id, receipt && safeOf(update, receipt.safe));
    }
  }

  /**
   * Gives the held updates a moment to become safe. With storage they are safe already.
   * @param mayMerge whether more parts of a merged message may arrive
   */
  async #settle(mayMerge: boolean): Promise<void> {
    // Promises that have resolved already run first.
    await new Promise(setImmediate);
    this.#held.confirmSafe();
    if (this.#held.isEmpty) return;
    const waited = new AbortController();
    const stop = (): void => waited.abort();
    this.#signal.addEventListener('abort', stop, { once: true });
    void this.#held.allSafe().then(stop);
    const { heldPauseMs } = this.#deps.times;
    await pause(mayMerge ? Math.min(heldPauseMs, mergingPauseMs) : heldPauseMs, waited.signal);
    this.#signal.removeEventListener('abort', stop);
    this.#confirmWithinLimits();
  }

  #confirmWithinLimits(): void {
    const before = this.#held.confirmedEarlyCount;
    this.#held.confirmWithinLimits();
    const count = this.#held.confirmedEarlyCount - before;
    if (count > 0) this.#deps.events.confirmedEarly({ channel: this.#deps.channel, count });
  }

  /** Confirms the finished updates, so that a restart does not receive them again. */
  async #confirmLast(): Promise<void> {
    this.#held.confirmSafe();
    const { offset } = this.#held;
    if (offset === null || offset === this.#confirmed) return;
    const { api, times, questions } = this.#deps;
    const allowed_updates = updateTypesOf(questions);
    const last = { offset, limit: 1, timeout: 0, allowed_updates };
    await api.call('getUpdates', last, times.farewellMs, new AbortController().signal);
  }

  /** Reports the fault in the health and waits as long as the fault requires. */
  async #recover(result: CallResult): Promise<'poll' | 'introduce' | 'over'> {
    if (this.#signal.aborted) return 'introduce';
    const { health, tokenName, times, random } = this.#deps;
    const status = result.kind === 'refused' ? result.status : 0;
    if (refusesToken(result)) {
      health.become('failed', refusedToken(tokenName));
      return 'over';
    }
    if (result.kind === 'refused' && status === 409) {
      const { baseMs, capMs } = times.conflictPauseMs;
      health.become('degraded', conflictReason(result, tokenName));
      await pause(Math.min(capMs, baseMs * 2 ** this.#conflicts++), this.#signal);
      return 'introduce';
    }
    this.#failures++;
    const wasSilent = result.kind === 'fault' && result.fault === 'timeout';
    // One lost poll is repeated at once and changes no health. A poll that timed out does.
    if (this.#failures > 1 || wasSilent || health.health.state !== 'up') {
      health.become('degraded', reasonOf(result), wasSilent ? health.silentMs : 0);
    }
    const askedMs = result.kind === 'refused' ? (result.retryAfterMs ?? 0) : 0;
    const jitterMs = fullJitter(this.#failures - 1, times.failurePauseMs, random);
    await pause(Math.max(askedMs, jitterMs), this.#signal);
    return 'poll';
  }
}

const nothing = { kind: 'accepted', receipts: [] } as const;
