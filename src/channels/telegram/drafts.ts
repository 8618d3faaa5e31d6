/**
 * Whether the platform shows drafts of messages (https://core.telegram.org/bots/api#sendmessagedraft,
 * Bot API 9.3): in private chats alone, where the bot's server has them. Before Bot API 9.5 only
 * chats with topics had them; others are refused by "TEXTDRAFT_PEER_INVALID" (openclaw#7803), and a
 * server that is older knows no such method (404). Nothing says so beforehand, so a draft is tried,
 * and a refusal is remembered.
 */
import { hourMs } from '../../lib/durations.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Refused } from './bot-api.ts';
import type { Target } from './place.ts';

type Place = Pick<Target, 'chat' | 'thread'>;

/** A private chat, or a topic in one. */
type Kind = 'chat' | 'topic';

/** Then a draft is tried again: the server may be a newer one. */
const refusedMs = hourMs;
/** Are remembered one by one; beyond that they are forgotten. */
const chatsMax = 4_096;

export class Drafts {
  readonly #steady: () => SteadyTime;
  readonly #refusedUntil = new Map<Kind, SteadyTime>();
  /** What the platform has shown a draft in. */
  readonly #shownIn = new Set<Kind>();
  /** Chats that have none, though others of their kind have. */
  readonly #without = new Set<number>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  /** Whether a draft may be shown there, as far as it is known. */
  mayShow({ chat, thread }: Place): boolean {
    // A group's id is below zero.
    if (chat < 0 || this.#without.has(chat)) return false;
    const until = this.#refusedUntil.get(kindOf(thread));
    return until === undefined || until <= this.#steady();
  }

  shown({ thread }: Place): void {
    this.#shownIn.add(kindOf(thread));
  }

  /** Remembers the refusal of a draft, as far as it tells something of others. */
  refused({ chat, thread }: Place, { status, description }: Refused): void {
    const until = later(this.#steady(), refusedMs);
    if (status === 404) {
      for (const kind of ['chat', 'topic'] as const) this.#refusedUntil.set(kind, until);
    } else if (/TEXTDRAFT_PEER_INVALID/i.test(description)) {
      const kind = kindOf(thread);
      if (!this.#shownIn.has(kind)) this.#refusedUntil.set(kind, until);
      else if (this.#without.add(chat).size > chatsMax) this.#without.clear();
    }
  }
}

/** The same for each run of a turn, by FNV-1a; it must not be zero. */
export function draftIdOf(question: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < question.length; at++) {
    hash = Math.imul(hash ^ question.charCodeAt(at), 0x0100_0193);
  }
  return hash >>> 1 || 1;
}

function kindOf(thread: number | null): Kind {
  return thread === null ? 'chat' : 'topic';
}
