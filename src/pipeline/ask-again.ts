/**
 * What had no answer is asked again: in the words that were kept of it, with all that came with it,
 * and no less private than it was, whatever brain is asked now.
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

/** @param shown of the session, that turn among them where it is in view */
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
  // So that later turns find it with the turn that takes the place of the other.
  if (said !== null) await deps.ledger.attachments.keep(claim, said.attachments);
  // What came behind it and waits as well has a button of its own, and is no part of this question.
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

/** What stood around it is in its words; what comes with the command is no part of it. */
function askedAs(command: Message, { sensitivity }: TurnRow): Message {
  const { context: _context, further: _further, ...message } = command;
  const label = strictest(message.sensitivity, sensitivity);
  return { ...message, media: null, sensitivity: label };
}
