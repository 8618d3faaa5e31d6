/**
 * Shows a reply while the brain writes it (../messenger/growing-message.ts). Formatting appears
 * once it is complete. Text that does not fit into one message waits for the reply. A preview uses
 * only room under the rate limits that no reply needs.
 *
 * If the platform shows drafts (drafts.ts), the preview is a draft: no message, and gone with the
 * reply or by itself. The reply is then sent like any other. Elsewhere the preview is a message
 * that grows by edits. It refers to the message that it answers, as the reply does.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { Preview, PreviewRequest } from '../channel.ts';
import {
  continuationMark,
  GrowingMessage,
  type GrowingDeps,
  type Shown,
  type Cleanup,
} from '../messenger/growing-message.ts';
import { splitText } from '../messenger/splitting.ts';
import type { BotApi, CallResult } from './bot-api.ts';
import { draftIdOf, type Drafts } from './drafts.ts';
import type { Formatted, Lexer } from './markdown.ts';
import type { RateLimiter } from './rate-limits.ts';
import { parseTarget, type Target } from './wire.ts';
import {
  contentOf,
  editText,
  messageText,
  numberOf,
  parseMessageText,
  placeFields,
  unsureText,
} from './place-reply.ts';
import { fitted, isEndUnseen, textMax } from './sending.ts';

export type PreviewDeps = Pick<Clock, 'steady'> & {
  readonly api: BotApi;
  readonly lexer: Lexer;
  readonly deadlines: Deadlines;
  readonly cleanup: Cleanup;
  readonly rateLimiter: Pick<RateLimiter, 'spare'>;
  readonly drafts: Drafts;
};

const callMs = 10_000;
/** The reply waits for a draft call under way, since a late draft would show beside the reply. */
const draftMs = 4_000;
/**
 * The time between two calls. A group takes twenty messages a minute, edits among them. Telegram
 * refused bots that sent a draft every 0.1 s for some time. Clients animate the text between two
 * drafts.
 */
const everyMs = { person: 1_500, group: 3_000, draft: 1_000 } as const;
/** Telegram drops a draft 30 s after the last call. */
const repeatMs = 20_000;
const cutting = {
  unitsMax: textMax - continuationMark.length,
  unitsOf: (text: string) => text.length,
  fences: true,
};

/** @returns null if the address is not one of Telegram's */
export function beginPreview(deps: PreviewDeps, shown: PreviewRequest): Preview | null {
  const target = parseTarget(shown.address);
  return target === null ? null : new GrowingMessage(new TelegramPreview(deps, shown, target));
}

/** How one reply is shown: as a draft while the platform takes drafts, else as a message. */
class TelegramPreview implements GrowingDeps {
  readonly message: string | null;
  readonly unseen = null;
  readonly made: (message: string) => void;
  readonly steady: GrowingDeps['steady'];
  readonly deadlines: Deadlines;
  readonly #deps: PreviewDeps;
  readonly #target: Target;
  readonly #draftId: number;
  #isDraft: boolean;

  constructor(deps: PreviewDeps, { replaces, question, made }: PreviewRequest, target: Target) {
    this.message = replaces;
    this.made = made;
    this.steady = deps.steady;
    this.deadlines = deps.deadlines;
    this.#deps = deps;
    this.#target = target;
    this.#draftId = draftIdOf(question);
    // An existing message goes on as a message.
    this.#isDraft = replaces === null && deps.drafts.mayShow(target);
  }

  get everyMs(): number {
    if (this.#isDraft) return everyMs.draft;
    // A group's id is below zero.
    return this.#target.chat < 0 ? everyMs.group : everyMs.person;
  }

  get repeatMs(): number | null {
    return this.#isDraft ? repeatMs : null;
  }

  readonly cut = (text: string): string => splitText(text, cutting)[0]?.text ?? text;

  readonly waitForRoom = (signal: AbortSignal, isFirst: boolean): Promise<boolean> => {
    const kind = this.#isDraft ? 'draft' : 'message';
    return this.#deps.rateLimiter.spare(this.#target.chat, signal, kind, isFirst);
  };

  readonly put: GrowingDeps['put'] = (message, text, signal) => {
    if (this.#isDraft) return this.#draft(text, signal);
    return put(this.#deps, this.#target, message, text, signal);
  };

  readonly remove = (message: string): void => void this.#deps.cleanup.remove(message);

  /** A draft has no "…" behind it: a client marks a draft itself, and animates its end. */
  async #draft(source: string, signal: AbortSignal): Promise<Shown> {
    const { api, lexer, drafts } = this.#deps;
    const { text, entities } = fitted(source, lexer);
    const payload = {
      ...placeFields({ ...this.#target, replyTo: null }),
      draft_id: this.#draftId,
      text,
      ...(entities.length > 0 && { entities: [...entities] }),
    };
    const result = await api.call('sendMessageDraft', payload, draftMs, signal);
    if (result.kind === 'done') {
      drafts.shown(this.#target);
      return { kind: 'shown' };
    }
    if (result.kind === 'fault') return { kind: 'failed' };
    if (result.status === 429) return { kind: 'busy', ms: result.retryAfterMs ?? 0 };
    if (result.status !== 400 && result.status !== 404) return { kind: 'failed' };
    drafts.refused(this.#target, result);
    this.#isDraft = false;
    return { kind: 'busy', ms: 0 };
  }
}

async function put(
  { api, lexer }: PreviewDeps,
  target: Target,
  message: string | null,
  text: string,
  signal: AbortSignal,
): Promise<Shown> {
  const { chat } = target;
  const content = contentOf(beginningOf(text, lexer));
  if (message !== null) {
    const made = parseMessageText(message);
    if (made?.chat !== chat) return { kind: 'over' };
    const edit = { chat_id: chat, message_id: made.number, ...content };
    const result = await editText(api, edit, callMs, signal);
    return mayArriveLate(result)
      ? { kind: 'unseen', message: unsureText(made) }
      : shownAfter(result);
  }
  const payload = { ...placeFields(target), ...content };
  const result = await api.call('sendMessage', payload, callMs, signal);
  const number = result.kind === 'done' ? numberOf(result.result) : null;
  if (number !== null) return { kind: 'made', message: messageText({ chat, number }) };
  // The message may be there without a known id, so a second one would be too many.
  return mayExist(result) ? { kind: 'over' } : shownAfter(result);
}

/** Whether the message may exist. An error page of a proxy is as unclear as a broken connection. */
function mayExist(result: CallResult): boolean {
  if (result.kind === 'refused') return result.status >= 500 && result.status !== 503;
  return result.kind === 'done' || result.sent;
}

function mayArriveLate(result: CallResult): boolean {
  return result.kind === 'refused' ? isEndUnseen(result) : result.kind === 'fault' && result.sent;
}

function shownAfter(result: CallResult): Shown {
  if (result.kind === 'done') return { kind: 'shown' };
  return { kind: result.kind === 'refused' && result.status === 429 ? 'over' : 'failed' };
}

function beginningOf(source: string, lexer: Lexer): Formatted {
  const { text, entities } = fitted(source, lexer);
  return { text: `${text}${continuationMark}`, entities };
}
