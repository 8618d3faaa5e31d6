/**
 * The poll loop. It asks Telegram for its own name, deletes a webhook, and then polls for updates,
 * never twice at a time.
 *
 * Telegram forgets an update when a later poll sends a higher offset. So the offset never passes an
 * update that is not safe in the ledger, except for the limits of `HeldUpdates`. Telegram begins
 * new random update ids after a quiet week. Therefore svc keeps no offset over a restart, and drops
 * it when Telegram has no more updates. It recognises messages by chat and message id.
 *
 * States: introducing → polling ⇄ pausing. A conflict leads back to introducing. After a refused
 * token the loop waits for its signal to abort.
 */
import { aborted } from '../../lib/stop.ts';
import { fullJitter, pause } from '../../lib/backoff.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { Receipt } from '../channel.ts';
import type { MessengerDeps } from '../messenger/messenger.ts';
import type { Intake } from '../messenger/platform.ts';
import type { RecentQuestions } from '../messenger/recent-questions.ts';
import type { MessengerConfig } from '../registry.ts';
import { refusesToken, type BotApi, type Result, type Refused } from './bot-api.ts';
import type { FormerChats } from './former-chats.ts';
import {
  parseBot,
  parseTarget,
  parseUpdates,
  markupOf,
  albumMs,
  type Bot,
  type Update,
  type Press,
  type Target,
} from './wire.ts';
import type { Setting } from '../../domain/message.ts';

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

type PollerDeps = Intake<Target> &
  Pick<MessengerDeps, 'events' | 'random' | 'steady'> & {
    readonly config: Pick<MessengerConfig, 'tokenEnv' | 'gatherMs'>;
    readonly api: BotApi;
    readonly formerChats: FormerChats;
    readonly times: PollTimes;
  };

export class Poller {
  readonly #deps: PollerDeps;
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

  constructor(deps: PollerDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#held = new HeldUpdates(deps.steady);
  }

  /** Takes messages in until the signal aborts. */
  async run(): Promise<void> {
    const { formerChats, receive } = this.#deps;
    await formerChats.open(receive);
    while (!this.#signal.aborted) {
      const bot = await this.#introduce();
      const step = bot === null ? 'pause' : await this.#poll(bot);
      if (step === 'over') await aborted(this.#signal);
    }
    formerChats.close();
    await this.#confirmLast();
  }

  /** Asks for the bot's own name and deletes a webhook. @returns null: try again */
  async #introduce(): Promise<Bot | null> {
    const { callMs } = this.#deps.times;
    const { api } = this.#deps;
    this.#isAnswered = false;
    if (this.#bot === null) {
      const me = await api.call('getMe', {}, callMs, this.#signal);
      this.#bot = me.kind === 'ok' ? parseBot(me.body) : null;
      if (this.#bot === null) return this.#failed(me);
    }
    const options = { drop_pending_updates: false };
    const away = await api.call('deleteWebhook', options, callMs, this.#signal);
    if (away.kind !== 'ok') return this.#failed(away);
    return this.#bot;
  }

  async #failed(result: Result): Promise<null> {
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
      if (result.kind !== 'ok') {
        const next = await this.#recover(result);
        if (next !== 'poll') return next;
        continue;
      }
      this.#completed();
      const updates = this.#albums.settle(parseUpdates(result.body, bot));
      if (updates.length === 0) {
        this.#held.confirmed();
        if (waits) await this.#pauseAfterEarlyEnd(begunAt);
      }
      const fresh = updates.filter(({ id }) => !this.#held.has(id));
      await this.#take(fresh);
      await this.#settle(fresh.some((update) => mayBePart(update, this.#deps.config.gatherMs)));
    }
  }

  /**
   * Pauses if a poll ended at once, so that svc does not flood a server that ignores the timeout.
   */
  async #pauseAfterEarlyEnd(begunAt: SteadyTime): Promise<void> {
    const { steady, times } = this.#deps;
    if (steady() - begunAt < times.heldPauseMs / 2) await pause(times.heldPauseMs, this.#signal);
  }

  async #getUpdates(timeout: number): Promise<Result> {
    const { api, times, steady, questions } = this.#deps;
    const { offset } = this.#held;
    const begunAt = steady();
    const allowed_updates = updateTypesOf(questions);
    const asked = {
      ...(offset !== null && { offset }),
      limit: updatesMax,
      timeout,
      allowed_updates,
    };
    const result = await api.call('getUpdates', asked, times.pollMs, this.#signal);
    const hasArrived = this.#signal.aborted && steady() - begunAt >= arrivedMs;
    if (result.kind === 'ok' || hasArrived) this.#confirmed = offset;
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
    const { receive, health } = this.#deps;
    if (receive.room() > 0 || this.#signal.aborted) return;
    health.become('degraded', 'there is no room: it polls again when there is');
    await receive.whenRoom(this.#signal);
  }

  /**
   * Hands updates to the ledger. svc does not confirm refused ones, so they come again with a later
   * poll.
   */
  async #take(updates: readonly Update[]): Promise<void> {
    for (let from = 0; from < updates.length && !this.#signal.aborted;) {
      const { key: channel, questions, formerChats } = this.#deps;
      const part = withoutIgnoredEdits(updates.slice(from, from + this.#partMax), questions);
      for (const { migration } of part) if (migration !== undefined) formerChats.learn(migration);
      const messages = part.flatMap(({ message }) => (message === null ? [] : [message]));
      const batch = messages.map(({ target, ...message }) => {
        const aliases = formerChats.aliasesOf(parseTarget({ target })?.chat ?? 0);
        return { channel, ...message, ...aliases, address: { channel, target } };
      });
      const pairs = formerChats.unstored;
      const isEmpty = batch.length === 0 && pairs === undefined;
      const handled = isEmpty ? nothing : await this.#deps.receive(batch, pairs);
      if (handled.kind === 'accepted') {
        formerChats.stored(pairs);
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
      const { id, message, press } = update;
      const receipt = message === null ? null : receipts[at++]!;
      if (message !== null && press === undefined) {
        this.#deps.questions?.noteReceipt(message.dedupeKey, message.edits, receipt);
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
    if (count > 0) this.#deps.events.confirmedEarly({ channel: this.#deps.key, count });
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
  async #recover(result: Result): Promise<'poll' | 'introduce' | 'over'> {
    if (this.#signal.aborted) return 'introduce';
    const { health, config, times, random } = this.#deps;
    const status = result.kind === 'refused' ? result.status : 0;
    if (refusesToken(result)) {
      health.become('failed', refusedToken(config.tokenEnv));
      return 'over';
    }
    if (result.kind === 'refused' && status === 409) {
      const { baseMs, capMs } = times.conflictPauseMs;
      health.become('degraded', conflictReason(result, config.tokenEnv));
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

/** Why the channel is not up, in our own words: logs must not hold text of the other side. */
function refusedToken(tokenName: string): string {
  return (
    `Telegram refused the token in ${tokenName}: ask @BotFather for the bot's token, ` +
    `set ${tokenName} to it, and restart`
  );
}

/** @param refused a 409: another program polls, or has set a webhook */
function conflictReason({ description }: Pick<Refused, 'description'>, tokenName: string): string {
  if (/webhook/i.test(description)) {
    return (
      `another program set a webhook for the bot of ${tokenName}, and svc takes it away: end ` +
      'that program, or use another bot here; svc doctor tells where the webhook leads'
    );
  }
  return `another program polls with the token in ${tokenName}: stop it, or use another bot here`;
}

function reasonOf(result: Result): string {
  if (result.kind === 'ok') return 'Telegram gave an answer that could not be understood';
  if (result.kind === 'refused') return `Telegram answered ${result.status}; it is asked again`;
  const check = ': check the way from this machine to the network';
  const faults = {
    connect_failed: `Telegram could not be reached${check}`,
    connect_timeout: `Telegram could not be reached in time${check}`,
    connection_lost: `the connection to Telegram broke${check}`,
    timeout: `Telegram did not answer in time${check}`,
    answer_too_large: 'Telegram sent more than is read at once',
    cancelled: 'the call to Telegram was given up',
  } as const;
  return `${faults[result.fault]}; it is asked again`;
}

/**
 * Answers a press that the ledger took. Telegram's wait ends, and in a direct chat the buttons of
 * the question go. In a group they stay, since the person who pressed may have no right to decide.
 * A press that the gate turned away gets no answer. A failure here changes nothing else.
 */
function acknowledge(
  { api, bestEffort }: Pick<PollerDeps, 'api' | 'bestEffort'>,
  { query, chat, message, setting, otherRows }: Press,
  signal: AbortSignal,
): void {
  void api.call('answerCallbackQuery', { callback_query_id: query }, pressMs, signal);
  if (setting !== 'direct') return;
  const shown = { chat_id: chat, message_id: message, ...markupOf(otherRows) };
  const edit = () => api.call('editMessageReplyMarkup', shown, pressMs, signal);
  void bestEffort.offer('buttons', { chat, thread: null, replyTo: null }, edit, signal);
}

const pressMs = 5_000;

/**
 * Updates that svc has taken and Telegram must not forget yet. Telegram forgets all updates below
 * the offset of the next poll. So the offset stays at the oldest update that is not safe.
 *
 * An answer holds at most a hundred updates, from the offset on, so one slow answer could block new
 * messages. Therefore svc confirms an update that is not safe after 20 s, or when it is the oldest
 * of more than 80. `confirmedEarlyCount` counts these updates.
 */
export const heldMax = 80;
export const heldMaxMs = 20_000;

export class HeldUpdates {
  /** In the order of their ids. */
  readonly #held: Held[] = [];
  readonly #steady: () => SteadyTime;
  #offset: number | null = null;
  #unsafe = 0;
  #confirmedEarlyCount = 0;
  #allSafe: (() => void) | null = null;

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  /** How many updates were confirmed before they were safe, since the start. */
  get confirmedEarlyCount(): number {
    return this.#confirmedEarlyCount;
  }

  /** Telegram may forget every update before this one; null: there is no known offset. */
  get offset(): number | null {
    return this.#held[0]?.id ?? this.#offset;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Whether the update came before and is still held. */
  has(id: number): boolean {
    const last = this.#held.at(-1);
    return last !== undefined && id <= last.id;
  }

  /** @param safe resolves when Telegram may forget it; null: at once */
  add(id: number, safe: Promise<void> | null): void {
    const held: Held = { id, since: this.#steady(), safe: safe === null };
    this.#held.push(held);
    if (safe === null) return;
    this.#unsafe++;
    void safe.then(() => this.#markSafe(held));
  }

  /** Confirms the updates that are safe. */
  confirmSafe(): void {
    this.#release(() => false);
  }

  /** Confirms safe updates, and those beyond the limits of time and number. */
  confirmWithinLimits(): void {
    const now = this.#steady();
    this.#release(({ since }, remaining) => remaining > heldMax || now - since >= heldMaxMs);
  }

  #release(isOver: (held: Held, remaining: number) => boolean): void {
    let gone = 0;
    for (const held of this.#held) {
      if (!held.safe && !isOver(held, this.#held.length - gone)) break;
      if (!held.safe) this.#confirmedEarlyCount++;
      this.#offset = held.id + 1;
      gone++;
    }
    for (const held of this.#held.splice(0, gone)) this.#markSafe(held);
  }

  /** Telegram has no more updates. So svc drops the offset, since Telegram may begin new ids. */
  confirmed(): void {
    if (this.isEmpty) this.#offset = null;
  }

  /** Resolves when every held update is safe. */
  async allSafe(): Promise<void> {
    if (this.#unsafe === 0) return;
    await new Promise<void>((resolve) => (this.#allSafe = resolve));
  }

  /** The update no longer counts as unsafe; a later outcome is ignored. */
  #markSafe(held: Held): void {
    if (held.safe) return;
    held.safe = true;
    this.#unsafe--;
    if (this.#unsafe > 0) return;
    this.#allSafe?.();
    this.#allSafe = null;
  }
}

type Held = { readonly id: number; readonly since: SteadyTime; safe: boolean };

// Albums in groups. Only the part with the caption names the bot. The other parts name nobody, and
// may arrive with a later answer.

/**
 * How soon svc asks for the rest of an album or of merged messages. Telegram answers an offset that
 * is repeated within half a second with a single update.
 */
const mergingPauseMs = 600;

/** @param gatherMs the channel's setting; 0: only albums are merged */
function mayBePart({ message, press }: Update, gatherMs: number): boolean {
  if (message === null || press !== undefined) return false;
  return gatherMs > 0 || message.gather !== undefined;
}

/**
 * When Telegram may forget a part that was taken in a group: not before its album is complete. A
 * process that starts in the middle learns from that part alone for whom the others are.
 */
export function safeOf({ message }: Update, safe: Promise<void>): Promise<void> {
  if (albumOf(message) === null) return safe;
  const whole = new Promise<void>((resolve) => void setTimeout(resolve, albumMs).unref());
  return whole.then(() => safe);
}

/** How many albums for this bot are remembered. */
const albumsMax = 100;

export class Albums {
  readonly #settings = new Map<string, Setting>();

  /** Gives every part of an album the setting of the part with the caption. */
  settle(updates: readonly Update[]): readonly Update[] {
    for (const update of updates) this.#note(update);
    return updates.map((update) => {
      const { message } = update;
      const setting = this.#settings.get(albumOf(message) ?? '');
      if (message === null || setting === undefined) return update;
      return { ...update, message: { ...message, setting } };
    });
  }

  #note({ message }: Update): void {
    const key = albumOf(message);
    if (key === null || message === null || message.setting === 'overheard') return;
    this.#settings.set(key, message.setting);
    const [oldest] = this.#settings.keys();
    if (this.#settings.size > albumsMax) this.#settings.delete(oldest!);
  }
}

/** An album in a private chat needs no key: every message there is for the bot. */
function albumOf(message: Update['message']): string | null {
  if (message?.gather?.kind !== 'album' || message.setting === 'direct') return null;
  return `${message.conversation} ${message.sender.id} ${message.gather.key}`;
}

/** Which updates svc asks Telegram for, and which edits go to the ledger. */
const updateTypes = ['message', 'callback_query'] as const;
const withEdits = [...updateTypes, 'edited_message'] as const;

/** The types of updates to ask for. Telegram keeps the types of the last request. */
function updateTypesOf(questions: RecentQuestions | null) {
  return questions === null ? updateTypes : withEdits;
}

/** Drops the message of each edit that svc must not ask again. */
function withoutIgnoredEdits(
  updates: readonly Update[],
  questions: RecentQuestions | null,
): readonly Update[] {
  if (questions === null) return updates;
  return updates.map((update) => {
    const { message, press } = update;
    if (message === null || press !== undefined) return update;
    const isAdmitted = questions.admits(message.dedupeKey, message, message.edits);
    return isAdmitted ? update : { ...update, message: null };
  });
}
