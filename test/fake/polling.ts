/** A Telegram poller on a scripted Bot API, with short waits and a ledger that only notes. */
import { systemClock } from '../../src/lib/clock.ts';
import {
  HealthState,
  type Receive,
  type ReceiveResult,
  type Receipt,
} from '../../src/channels/channel.ts';
import type { RecentQuestions } from '../../src/channels/messenger/recent-questions.ts';
import { BotApi } from '../../src/channels/telegram/bot-api.ts';
import { createRoom } from '../../src/channels/telegram/telegram.ts';
import { BestEffort } from '../../src/channels/messenger/best-effort.ts';
import { FormerChats } from '../../src/channels/telegram/former-chats.ts';
import { Poller, pollTimes, type PollTimes } from '../../src/channels/telegram/polling.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import type { ChannelKey, MessageId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import type { HandClock } from '../support/hand-clock.ts';
import { patienceMs } from '../support/waiting.ts';
import { ScriptedTelegram, token } from './scripted-telegram.ts';
import { noteEvents } from './webhook.ts';

const hurried: PollTimes = {
  ...pollTimes,
  heldPauseMs: 20,
  // A pure wait gets the time that a busy machine may need.
  farewellMs: patienceMs,
  failurePauseMs: { baseMs: 5, capMs: 20 },
  conflictPauseMs: { baseMs: 5, capMs: 20 },
};

/** Accepts everything. `settles` false: nothing is durable before `settle` is called for it. */
export class HeldLedger {
  readonly taken: string[] = [];
  readonly repeats: string[] = [];
  readonly refusals: ReceiveResult[] = [];
  settles = true;
  free = 1_000;
  /** The senders that the gate turns away. */
  strangers: readonly string[] = [];
  wake = Promise.withResolvers<void>();
  readonly #known = new Map<string, PromiseWithResolvers<void>>();

  settle(key: string): void {
    this.#known.get(key)!.resolve();
  }

  readonly receive: Receive = Object.assign(
    async (batch: readonly Inbound[]): Promise<ReceiveResult> => {
      const refusal = this.refusals.shift();
      if (refusal !== undefined) return refusal;
      if (batch.length > this.free) return { kind: 'refused', reason: 'full', retryAfterMs: 5 };
      return { kind: 'accepted', receipts: batch.map((message) => this.#take(message)) };
    },
    {
      room: () => this.free,
      asksForChats: () => true,
      whenRoom: () => this.wake.promise,
      cursor: () => Promise.resolve(null),
    },
  );

  #take({ dedupeKey, sender }: Inbound): Receipt | null {
    if (this.strangers.includes(sender.id)) return null;
    const key = dedupeKey!;
    const known = this.#known.get(key);
    const settlement = known ?? Promise.withResolvers<void>();
    this.#known.set(key, settlement);
    (known === undefined ? this.taken : this.repeats).push(key);
    if (this.settles) settlement.resolve();
    const duplicate = known !== undefined;
    return { id: key as MessageId, duplicate, keyReused: false, safe: settlement.promise };
  }
}

/** @param clock of everything but pauses; by default this machine's */
export async function startPolling(
  times: Partial<PollTimes> = {},
  clock: Pick<HandClock, 'now' | 'steady' | 'deadlines'> = {
    ...systemClock,
    deadlines: createDeadlines(),
  },
  questions: RecentQuestions | null = null,
) {
  const telegram = await ScriptedTelegram.start(20);
  const { now, steady, deadlines } = clock;
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const { events, calls } = noteEvents();
  const ledger = new HeldLedger();
  const degraded: (string | null)[] = [];
  const health = new HealthState({ now, steady }, (state, reason) => {
    if (state === 'degraded') degraded.push(reason);
  });
  const key = 'messenger_a:110201543' as ChannelKey;
  const config = { tokenEnv: 'TELEGRAM_TOKEN' as EnvName, gatherMs: 0, baseUrl: telegram.url };
  const api = new BotApi({ token, config, http, ...clock });
  const room = createRoom({ steady, deadlines });
  const bestEffort = new BestEffort({ room, deadlines, steady });
  const { receive } = ledger;
  const rest = { key, receive, config, api, bestEffort, health, events, steady, questions };
  const runs: { ending: AbortController; running: Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const { ending, running } of runs) {
      ending.abort();
      await running;
    }
  };
  return {
    telegram,
    ledger,
    health,
    /** The reasons of all times that it was degraded, however short. */
    degraded,
    calls,
    /** An earlier run leaves only the state of Telegram and the ledger. */
    run() {
      const ending = new AbortController();
      const random = Math.random;
      const formerChats = new FormerChats();
      const options = { ...rest, formerChats, random, times: { ...hurried, ...times } };
      const running = async (): Promise<void> => {
        await new Poller(options, ending.signal).run();
        if (health.health.state !== 'failed') health.become('stopped');
      };
      runs.push({ ending, running: running() });
    },
    stop,
    polls: () => telegram.callsOf('getUpdates').map(({ params }) => params),
    async [Symbol.asyncDispose]() {
      await stop();
      await http.close();
      await telegram[Symbol.asyncDispose]();
    },
  };
}
