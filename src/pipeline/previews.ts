/**
 * Shows the person the reply while the brain writes it, on channels that can. A preview is
 * best-effort: whatever happens to it, the reply goes through the outbox and replaces the preview.
 */
import type { Preview } from '../channels/channel.ts';
import type { InClaim } from '../ledger/ledger.ts';
import type { PipelineTurnContext } from './turn-context.ts';
import type { ActiveRoute, Deps } from './deps.ts';
import { msSince } from '../lib/clock.ts';

/**
 * The preview of one turn. It begins only when there is a text to show, and only when all replies
 * to earlier messages of the conversation have arrived.
 */
export class TurnPreview {
  readonly #deps: Pick<Deps, 'ledger' | 'events' | 'now'>;
  readonly #channel: ActiveRoute['channel'];
  readonly #claim: InClaim;
  /** The context of the turn, from which the reply's effects are made. */
  readonly #turnContext: Pick<PipelineTurnContext, 'shownAs'>;
  #preview: Preview | null = null;
  #isOver = false;

  constructor(
    deps: Pick<Deps, 'ledger' | 'events' | 'now'>,
    { channel }: Pick<ActiveRoute, 'channel'>,
    claim: InClaim,
    turnContext: Pick<PipelineTurnContext, 'shownAs'>,
  ) {
    this.#deps = deps;
    this.#channel = channel;
    this.#claim = claim;
    this.#turnContext = turnContext;
    turnContext.shownAs ??= earlierPreview(channel, claim);
  }

  /** Resolves when no request of the preview is under way any more. Never rejects. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#preview?.end();
  }

  readonly show = (whole: string): void => {
    if (this.#isOver) return;
    this.#preview ??= this.#begin();
    this.#preview?.show(whole);
  };

  #begin(): Preview | null {
    const { message } = this.#claim;
    const { shownAs } = this.#turnContext;
    // The message of an earlier run already stands in its place.
    const mayBegin =
      message.preview !== undefined || this.#deps.ledger.previews.isNext(this.#claim);
    if (!mayBegin) return null;
    const preview = this.#channel.preview?.({
      address: message.address,
      question: message.id,
      replaces: shownAs,
      made: (replaces) => {
        this.#turnContext.shownAs = replaces;
        // If this write fails, a crash in this turn makes a second message, and no other harm.
        void this.#deps.ledger.previews.keep(this.#claim, replaces);
      },
    });
    if (preview === undefined) return null;
    // Otherwise an earlier run of the turn may have shown the first word.
    if (shownAs === null) this.#countFirstWord();
    return preview;
  }

  #countFirstWord(): void {
    const { address, acceptedAt } = this.#claim.message;
    const ms = msSince(acceptedAt, this.#deps);
    this.#deps.events.firstWord({ channel: address.channel, ms });
  }
}

/**
 * The message that an earlier run of the turn showed, or may have shown before its process died.
 */
export function earlierPreview(
  channel: ActiveRoute['channel'],
  { message, attempt }: Pick<InClaim, 'message' | 'attempt'>,
): string | null {
  if (message.preview !== undefined) return message.preview;
  return attempt > 1 ? (channel.begun?.(message) ?? null) : null;
}
