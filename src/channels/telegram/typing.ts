/**
 * Shows "typing…" in a chat while svc works on an answer. Telegram shows it for five seconds
 * (https://core.telegram.org/bots/api#sendchataction), so svc sends it every four. A failed or
 * dropped call changes nothing. An answer that comes within a moment has no "typing…" before it.
 */
import type { Address } from '../../domain/message.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import type { BestEffortCalls } from './best-effort-calls.ts';
import { parseTarget, type Target } from './wire.ts';

const firstMs = 250;
const everyMs = 4_000;
const totalMsMax = 5 * 60_000;

type TypingDeps = {
  readonly bestEffort: BestEffortCalls;
  readonly deadlines: Deadlines;
};

/** Lasts until the signal aborts, and five minutes at most. */
export function showTyping(deps: TypingDeps, address: Address, signal: AbortSignal): void {
  const target = parseTarget(address);
  if (target === null || signal.aborted) return;
  const typing = new Typing(deps, target, signal);
  signal.addEventListener('abort', typing.stop, { once: true });
  typing.begin();
}

class Typing {
  readonly #deps: TypingDeps;
  readonly #target: Target;
  readonly #signal: AbortSignal;
  #shownMs = 0;
  #next: Deadline | null = null;

  constructor(deps: TypingDeps, target: Target, signal: AbortSignal) {
    this.#deps = deps;
    this.#target = target;
    this.#signal = signal;
  }

  begin(): void {
    this.#next = this.#deps.deadlines.after(firstMs, this.#send);
  }

  readonly #send = (): void => {
    const { bestEffort, deadlines } = this.#deps;
    const { chat, thread } = this.#target;
    const topic = thread === null ? {} : { message_thread_id: thread };
    const payload = { chat_id: chat, action: 'typing', ...topic } as const;
    bestEffort.offer('sendChatAction', payload, this.#signal);
    this.#shownMs += everyMs;
    this.#next = this.#shownMs < totalMsMax ? deadlines.after(everyMs, this.#send) : null;
  };

  readonly stop = (): void => {
    this.#next?.cancel();
    this.#next = null;
  };
}
