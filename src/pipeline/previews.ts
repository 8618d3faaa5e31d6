/**
 * The person sees the reply while it is being written, on channels that can show it. It is a
 * courtesy: whatever becomes of it, the reply goes through the outbox as always, and takes the
 * place of what was shown.
 */
import type { Preview } from '../channels/channel.ts';
import type { InClaim } from '../ledger/ledger.ts';
import type { PipelineTurnContext } from './turn-context.ts';
import type { ActiveRoute, Deps } from './deps.ts';

/**
 * The preview of one turn. Nothing is begun before there is a text to show, nor while a reply to an
 * earlier message of the conversation has not arrived.
 */
export class TurnPreview {
  readonly #deps: Pick<Deps, 'ledger'>;
  readonly #channel: ActiveRoute['channel'];
  readonly #claim: InClaim;
  /** Of the turn, which the reply's effects are made of. */
  readonly #turnContext: Pick<PipelineTurnContext, 'shownAs'>;
  #preview: Preview | null = null;
  #isOver = false;

  constructor(
    deps: Pick<Deps, 'ledger'>,
    { channel }: Pick<ActiveRoute, 'channel'>,
    claim: InClaim,
    turnContext: Pick<PipelineTurnContext, 'shownAs'>,
  ) {
    this.#deps = deps;
    this.#channel = channel;
    this.#claim = claim;
    this.#turnContext = turnContext;
    turnContext.shownAs ??= shownBefore(channel, claim);
  }

  /** Resolves when nothing of it is on its way any more. Never rejects. */
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
    // The message of an earlier run stands in its place already.
    const mayBegin =
      message.preview !== undefined || this.#deps.ledger.previews.isNext(this.#claim);
    if (!mayBegin) return null;
    const begun = this.#channel.preview?.({
      address: message.address,
      question: message.id,
      replaces: shownAs,
      made: (replaces) => {
        this.#turnContext.shownAs = replaces;
        // Where it cannot be written a crash in this turn makes a second message, and no more.
        void this.#deps.ledger.previews.keep(this.#claim, replaces);
      },
    });
    return begun ?? null;
  }
}

/** What an earlier run of the turn had shown, or may have where a process died under it. */
export function shownBefore(
  channel: ActiveRoute['channel'],
  { message, attempt }: Pick<InClaim, 'message' | 'attempt'>,
): string | null {
  if (message.preview !== undefined) return message.preview;
  return attempt > 1 ? (channel.begun?.(message) ?? null) : null;
}
