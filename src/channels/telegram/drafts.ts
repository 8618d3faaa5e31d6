/**
 * Whether the platform shows drafts of messages
 * (https://core.telegram.org/bots/api#sendmessagedraft, Bot API 9.3). Drafts exist only in private
 * chats, and only if the bot's server has them. Before Bot API 9.5 only chats with topics had them;
 * other chats answer "TEXTDRAFT_PEER_INVALID" (openclaw#7803). An older server does not know the
 * method (404). No method asks for this beforehand, so svc tries a draft and remembers a refusal.
 */
import { hourMs } from '../../lib/durations.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { Refused } from './bot-api.ts';
import type { Target } from './wire.ts';

type Place = Pick<Target, 'chat' | 'thread'>;

/** A private chat, or a topic in one. */
type Kind = 'chat' | 'topic';

/** How long a refusal counts; afterwards the server may be a newer one. */
const refusedMs = hourMs;
/** The most chats in `#without`; one more clears the set. */
const chatsMax = 4_096;

export class Drafts {
  readonly #steady: () => SteadyTime;
  readonly #refusedUntil = new Map<Kind, SteadyTime>();
  /** The kinds of chat in which the platform has shown a draft. */
  readonly #shownIn = new Set<Kind>();
  /** Chats without drafts, although other chats of their kind have them. */
  readonly #without = new Set<number>();

  constructor(steady: () => SteadyTime) {
    this.#steady = steady;
  }

  /** Whether svc may try a draft there; an unknown chat may have drafts. */
  mayShow({ chat, thread }: Place): boolean {
    // A group's id is below zero.
    if (chat < 0 || this.#without.has(chat)) return false;
    const until = this.#refusedUntil.get(kindOf(thread));
    return until === undefined || until <= this.#steady();
  }

  shown({ thread }: Place): void {
    this.#shownIn.add(kindOf(thread));
  }

  /** Remembers the refusal of a draft, if it says something about later drafts. */
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

/** A hash of the question by FNV-1a, the same for each run of a turn. Zero is no valid id. */
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
