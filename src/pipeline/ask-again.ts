/**
 * Asks an unanswered turn again: in its remembered words and with all its attachments. The turn
 * stays as private as it was, whichever brain is asked now.
 */
import type { TurnRow } from '../domain/conversation.ts';
import type { Message } from '../domain/message.ts';
import { strictest } from '../domain/sensitivity.ts';
import type { InClaim } from '../ledger/ledger.ts';
import type { ShownHistory, PipelineTurnContext } from './turn-context.ts';
import { withEarlierPictures, asItWasSaid } from './attachments/attachment-turn.ts';
import type { TurnEnd } from './effects.ts';
import { think } from './turn-failure.ts';
import type { ActiveRoute, Deps } from './deps.ts';
import { mayBeAskedAgain } from './sessions.ts';

/** @param shown the session's history; it contains the turn if the turn is in view */
export async function askAgain(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  { again, shown }: { readonly again: TurnRow; readonly shown: ShownHistory },
  turnContext: PipelineTurnContext,
): Promise<TurnEnd> {
  const message = askedAs(claim.message, again);
  if (message.sensitivity === 'private') turnContext.becomePrivate();
  const said = await asItWasSaid(deps, claim, again);
  // Kept again, so that later turns find the attachments with the turn that replaces the old one.
  if (said !== null) await deps.ledger.attachments.keep(claim, said.attachments);
  // Later unanswered turns have buttons of their own, and are no part of this question.
  const { history: seen } = shown;
  const place = seen.indexOf(again);
  const history = seen.filter((turn, at) => at < place || (at > place && !mayBeAskedAgain(turn)));
  const turn = {
    message,
    text: again.text,
    ...shown,
    history,
    ...said,
  };
  return think(deps, route.brain, withEarlierPictures(deps, route, claim, turn), turnContext);
}

/**
 * The remembered words include the context of the question. Attachments of the command itself are
 * ignored.
 */
function askedAs(command: Message, { sensitivity }: TurnRow): Message {
  const { context: _context, further: _further, ...message } = command;
  const label = strictest(message.sensitivity, sensitivity);
  return { ...message, media: null, sensitivity: label };
}
