/**
 * Asks an unanswered turn again: in its remembered words, with all its attachments, and of the brain
 * that was asked before. The turn stays as private as it was.
 */
import type { TurnRow } from '../domain/conversation.ts';
import type { Message } from '../domain/message.ts';
import type { InClaim } from '../ledger/ledger.ts';
import type { VisibleHistory, PipelineTurnContext } from './turn-context.ts';
import { withEarlierPictures, restoreTurn } from './attachments/attachment-turn.ts';
import type { TurnEnd } from './effects.ts';
import { askBrain } from './turn-failure.ts';
import type { ActiveRoute, Deps } from './deps.ts';
import { mayBeAskedAgain } from './sessions.ts';

/** @param shown the session's history; it contains the turn if the turn is in view */
export async function askAgain(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  { again, shown }: { readonly again: TurnRow; readonly shown: VisibleHistory },
  turnContext: PipelineTurnContext,
): Promise<TurnEnd> {
  const message = asAskedAgain(claim.message, again);
  if (message.sensitivity === 'private') turnContext.becomePrivate();
  const original = await restoreTurn(deps, claim, again);
  // Kept again, so that later turns find the attachments with the turn that replaces the old one.
  if (original !== null) await deps.ledger.attachments.keep(claim, original.attachments);
  // Later unanswered turns have buttons of their own, and are no part of this question.
  const { history: visibleTurns } = shown;
  const index = visibleTurns.indexOf(again);
  const history = visibleTurns.filter(
    (turn, at) => at < index || (at > index && !mayBeAskedAgain(turn)),
  );
  const turn = {
    message,
    text: again.text,
    ...shown,
    history,
    ...original,
  };
  return askBrain(deps, route.brain, withEarlierPictures(deps, route, claim, turn), turnContext);
}

/**
 * The remembered words include the context of the question. Attachments of the command itself are
 * ignored, and so is its label: it says nothing.
 */
function asAskedAgain(command: Message, { sensitivity }: TurnRow): Message {
  const { context: _context, further: _further, ...message } = command;
  return { ...message, media: null, sensitivity };
}
