/** A Discord channel on a scripted platform, with a ledger that notes each group of writes. */
import { patienceMs } from '../support/waiting.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Receive, Channel, ReceiveResult, Cursor } from '../../src/channels/channel.ts';
import { createDiscordChannel, type DiscordDeps } from '../../src/channels/discord/discord.ts';
import type { AccessConfig } from '../../src/config/config.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import type { MessengerConfig } from '../../src/channels/registry.ts';
import type { MessageId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient } from '../../src/lib/http-client.ts';
import { botToken, ScriptedDiscord } from './scripted-discord.ts';
import { noteEvents } from './webhook.ts';

/** Outlives the runs of a channel, as a ledger with storage does. */
export class NotingLedger {
  readonly messages: Inbound[] = [];
  readonly commits: { readonly ids: readonly string[]; readonly place: Cursor | undefined }[] = [];
  readonly cursors = new Map<string, string>();
  /** The first answers, one for each call with messages. */
  readonly refusals: ReceiveResult[] = [];
  /** Releases the callers that wait for room. */
  makeRoom: () => void = () => {};
  waiting = false;
  hasRoom = false;
  /** The senders that the gate turns away. */
  strangers: readonly string[] = [];
  free = 1_000;
  /** Whether a route names chats. */
  namesChats = true;
  /** Each commit waits for it. */
  gate: Promise<void> = Promise.resolve();

  readonly receive: Receive = Object.assign(
    (batch: readonly Inbound[], place?: Cursor) => this.#take(batch, place),
    {
      room: () => this.free,
      cursor: (name: string) => Promise.resolve(this.cursors.get(name) ?? null),
      asksForChats: () => this.namesChats,
      whenRoom: (signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          this.waiting = true;
          if (this.hasRoom) return resolve();
          this.makeRoom = resolve;
          signal.addEventListener('abort', () => resolve());
        }),
    },
  );

  get texts(): string[] {
    return this.messages.map(({ text }) => text);
  }

  get session(): { id: string; sequence: number; newest: string | null } {
    return JSON.parse(this.cursors.get('session') ?? 'null') as never;
  }

  async #take(batch: readonly Inbound[], place?: Cursor): Promise<ReceiveResult> {
    await this.gate;
    const refusal = batch.length > 0 ? this.refusals.shift() : undefined;
    if (refusal !== undefined) return refusal;
    if (place !== undefined) this.cursors.set(place.name, place.value);
    this.commits.push({ ids: batch.map(({ dedupeKey }) => dedupeKey ?? ''), place });
    const receipts = batch.map((message) => {
      const isStranger = this.strangers.includes(message.sender.id);
      if (isStranger || message.setting === 'overheard') return null;
      const duplicate = this.messages.some(({ dedupeKey }) => dedupeKey === message.dedupeKey);
      if (!duplicate) this.messages.push(message);
      const id = (message.dedupeKey ?? '') as MessageId;
      return { id, duplicate, keyReused: false, safe: Promise.resolve() };
    });
    return { kind: 'accepted', receipts };
  }
}

export type DiscordBench = AsyncDisposable & {
  readonly discord: ScriptedDiscord;
  readonly ledger: NotingLedger;
  readonly calls: readonly [string, unknown][];
  /** Makes another channel with the same settings, as after a restart. */
  make(
    more?: Partial<DiscordDeps> & {
      access?: AccessConfig;
      baseUrl?: string;
      manners?: Partial<MessengerConfig>;
    },
  ): Channel;
  /** Makes, opens and runs a channel until the test calls the returned stop. */
  run(more?: Partial<DiscordDeps>): Promise<{ channel: Channel; stop: () => Promise<void> }>;
};

/** Short, so that a test sees the effect of minutes. */
const limits = { pauseMs: 20, pauseMsMax: 50, spacingMs: 0, tickMs: 20 };

export async function startDiscordBench(): Promise<DiscordBench> {
  const discord = await ScriptedDiscord.start();
  const deadlines = createDeadlines();
  const http = createHttpClient(deadlines, { connectMs: patienceMs });
  const { events, calls } = noteEvents();
  const ledger = new NotingLedger();
  const stops: (() => Promise<void>)[] = [];
  const bench: DiscordBench = {
    discord,
    ledger,
    calls,
    make({ access, baseUrl = discord.url, manners: own, ...more } = {}) {
      const tokenEnv = 'DISCORD_TOKEN' as EnvName;
      const manners = { streaming: true, gatherMs: 0, edits: false, speech: null } as const;
      const where = { name: 'messenger_b', type: 'messenger_b', tokenEnv, baseUrl } as const;
      const config = { ...where, ...manners, access: access ?? null, ...own };
      const rest = { http, deadlines, events, ...systemClock, random: Math.random, limits };
      return createDiscordChannel({ config, token: botToken, ...rest, ...more });
    },
    async run(more) {
      const channel = bench.make({ ...more, limits: { ...limits, ...more?.limits } });
      await channel.open();
      const ending = new AbortController();
      const running = channel.run(ledger.receive, ending.signal);
      const stop = async (): Promise<void> => {
        ending.abort();
        await running;
        await channel[Symbol.asyncDispose]();
      };
      stops.push(stop);
      return { channel, stop };
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) await stop();
      await http.close();
      await discord[Symbol.asyncDispose]();
    },
  };
  return bench;
}

/** Above every recorded id: test files that share a process share this counter. */
let lastId = 1_346_821_094_302_000_000n;

/** The `d` of a MESSAGE_CREATE with a new, later id, by default in a direct chat. */
export function said(
  content: string,
  more: Record<string, unknown> = {},
): Record<string, unknown> & { id: string } {
  lastId += 1n;
  return {
    id: String(lastId),
    channel_id: '319674150115610528',
    type: 0,
    content,
    author: { id: '80351110224678912', username: 'nelly' },
    ...more,
  };
}
