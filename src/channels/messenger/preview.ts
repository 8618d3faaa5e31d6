/**
 * Shows a reply while the brain writes it (growing-message.ts): as a draft while the platform takes
 * drafts, else as a message that grows by edits. The message refers to the message that it answers,
 * as the reply does. Text that does not fit into one message waits for the reply.
 */
import type { SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { PreviewRequest } from '../channel.ts';
import type { BestEffort } from './best-effort.ts';
import { isEndUnseen } from './delivery.ts';
import { continuationMark, type Cleanup, type GrowingDeps, type Shown } from './growing-message.ts';
import type { CallResult, DraftPreview, Outgoing, Platform, PlatformKind } from './platform.ts';
import { splitText, type Cutting } from './splitting.ts';

/** The time between two edits, in milliseconds. Platforms take fewer messages of a group. */
const everyMs = { person: 1_500, group: 3_000 } as const;

export type PreviewDeps<T> = {
  readonly kind: PlatformKind<T>;
  readonly platform: Platform<T>;
  readonly bestEffort: BestEffort<T>;
  readonly cleanup: Cleanup;
  readonly deadlines: Deadlines;
  readonly steady: () => SteadyTime;
};

/** A platform that recognises repeats knows the preview by this key. */
export function previewKey(question: string): string {
  return `p${question}`;
}

export class GrowingReply<T> implements GrowingDeps {
  readonly message: string | null;
  readonly unseen: string | null;
  readonly made: (message: string) => void;
  readonly steady: () => SteadyTime;
  readonly deadlines: Deadlines;
  readonly #deps: PreviewDeps<T>;
  readonly #target: T;
  readonly #key: string;
  readonly #cutting: Cutting;
  /** Null: the reply grows as a message. */
  #draft: DraftPreview | null;

  constructor(deps: PreviewDeps<T>, { replaces, question, made }: PreviewRequest, target: T) {
    const { kind, platform, steady, deadlines } = deps;
    this.message = replaces;
    this.made = made;
    this.steady = steady;
    this.deadlines = deadlines;
    this.#deps = deps;
    this.#target = target;
    this.#key = previewKey(question);
    this.unseen = kind.repeats?.unseenName(target, this.#key) ?? null;
    const unitsMax = kind.textUnitsMax - continuationMark.length;
    this.#cutting = { unitsMax, unitsOf: (text) => text.length, fences: true };
    // An existing message goes on as a message.
    this.#draft = replaces === null ? (platform.draft?.(target, question) ?? null) : null;
  }

  get everyMs(): number {
    if (this.#draft !== null) return this.#draft.everyMs;
    return this.#deps.kind.isGroup(this.#target) ? everyMs.group : everyMs.person;
  }

  get repeatMs(): number | null {
    return this.#draft?.repeatMs ?? null;
  }

  readonly cut = (text: string): string => splitText(text, this.#cutting)[0]?.text ?? text;

  readonly waitForRoom = (signal: AbortSignal, isFirst: boolean): Promise<boolean> => {
    const kind = this.#draft === null ? 'preview' : 'draft';
    return this.#deps.bestEffort.waitForPreview(kind, this.#target, signal, isFirst);
  };

  readonly put = async (
    message: string | null,
    text: string,
    signal: AbortSignal,
  ): Promise<Shown> => {
    if (this.#draft === null) return this.#putMessage(message, text, signal);
    const result = await this.#draft.put(text, signal);
    this.#deps.bestEffort.noteLimit('draft', result);
    if (result.kind === 'ok') return { kind: 'shown' };
    if (result.kind === 'fault') return { kind: 'failed' };
    if (result.status === 429) return { kind: 'busy', ms: result.retryAfterMs ?? 0 };
    if (result.status !== 400 && result.status !== 404) return { kind: 'failed' };
    // There are no drafts in this place after all.
    this.#draft = null;
    return { kind: 'busy', ms: 0 };
  };

  readonly remove = (message: string): void => void this.#deps.cleanup.remove(message);

  async #putMessage(name: string | null, text: string, signal: AbortSignal): Promise<Shown> {
    const { kind, platform, bestEffort } = this.#deps;
    const { names, repeats } = kind;
    const target = this.#target;
    const outgoing = this.#outgoingOf(text);
    // A name of a message that may exist holds its key: sending it again finds that message.
    const isUnseen = name !== null && (repeats?.keyIn(name, target) ?? null) !== null;
    if (name !== null && !isUnseen) {
      const known = names.sureOf(name) ?? name;
      if (!names.isAt(known, target)) return { kind: 'over' };
      const result = bestEffort.noteLimit('preview', await platform.edit(known, outgoing, signal));
      return mayArriveLate(result, repeats !== undefined)
        ? { kind: 'unseen', message: names.unsure(known) }
        : shownAfter(result);
    }
    let result = bestEffort.noteLimit('preview', await platform.send(outgoing, signal));
    // One repair is enough for the reference (grammar-nazi-bot#244) or the topic.
    const refusal = result.kind === 'refused' && result.status !== 429 ? result : null;
    if (refusal !== null && platform.repair?.(outgoing, refusal) === true) {
      result = bestEffort.noteLimit('preview', await platform.send(outgoing, signal));
    }
    const made = result.kind === 'ok' ? names.in(result.body, outgoing.target) : null;
    if (made !== null) return { kind: 'made', message: made };
    if (!mayExist(result, repeats !== undefined)) return shownAfter(result);
    // The message may be there without a known id, so a second one would be too many.
    return this.unseen === null ? { kind: 'over' } : { kind: 'unseen', message: this.unseen };
  }

  #outgoingOf(text: string): Outgoing<T> {
    const content = { text, file: null, isPlain: false, buttons: [] };
    const place = { target: this.#target, refers: true, edits: null, key: this.#key };
    return { ...content, ...place, isPreview: true };
  }
}

/**
 * Whether the message may exist. An error page of a proxy is as unclear as a broken connection. A
 * 503 means that it does not; where a message can be searched by its key, svc looks all the same.
 */
function mayExist(result: CallResult, isSearchable: boolean): boolean {
  if (result.kind !== 'refused') return result.kind === 'ok' || result.sent;
  return result.status >= 500 && (isSearchable || result.status !== 503);
}

/** Whether the edit may still happen. */
function mayArriveLate(result: CallResult, isSearchable: boolean): boolean {
  if (result.kind === 'fault') return result.sent;
  return (
    isEndUnseen(result) || (isSearchable && result.kind === 'refused' && result.status === 503)
  );
}

function shownAfter(result: CallResult): Shown {
  if (result.kind === 'ok') return { kind: 'shown' };
  if (result.kind !== 'refused' || result.status !== 429) return { kind: 'failed' };
  // svc waits for a limit that it knows. At a limit that the platform reports, the preview ends.
  return result.unasked === true
    ? { kind: 'busy', ms: result.retryAfterMs ?? 0 }
    : { kind: 'over' };
}
