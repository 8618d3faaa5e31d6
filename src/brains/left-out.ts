/** What some models were not shown of a conversation, as the trace tells it. */
import type { TurnRow } from '../domain/conversation.ts';
import { failure } from '../domain/failure.ts';
import type { TurnContext, Turn } from './brain.ts';
import type { ModelCall } from './model-call.ts';
import { isUnanswered, turnsIn } from './privacy-filter.ts';

type Asked = Pick<ModelCall, 'model' | 'view' | 'refusal'>;

/**
 * To be called once the models have been asked.
 * What the message replies to counts as a turn.
 * @param notes how many notes are private
 * @param chosen whose answer is the reply, or is acted on; null: nobody's
 */
export function tellLeftOut(
  { history, quoted }: Pick<Turn, 'history' | 'quoted'>,
  notes: number,
  calls: readonly Asked[],
  chosen: Asked | null,
  turnContext: TurnContext,
): void {
  const shown = quoted === undefined ? history : [...history, quoted];
  const secret = shown.filter(({ sensitivity }) => sensitivity === 'private').length;
  if (secret + notes > 0) {
    const models = calls.filter(({ view }) => !view.private).map(({ model }) => model);
    if (models.length > 0) {
      turnContext.addStep({ kind: 'left_out', why: 'private', models, turns: secret, notes });
    }
    if (chosen?.view.private === true) turnContext.becomePrivate();
  }
  if (chosen !== null && !chosen.view.unanswered) tellUnanswered(history, chosen, turnContext);
}

/**
 * The newest is the one to blame, since with those before it somebody was answered. A failure that
 * may be chance counts only when it comes again.
 */
function tellUnanswered(
  history: readonly TurnRow[],
  { model, view, refusal }: Asked,
  turnContext: TurnContext,
) {
  const shown = turnsIn(history, { ...view, unanswered: true });
  const unanswered = shown.filter(isUnanswered);
  const newest = unanswered.at(-1);
  if (newest === undefined) return;
  const told = { kind: 'left_out', models: [model], notes: 0 } as const;
  turnContext.addStep({ ...told, why: 'unanswered', turns: unanswered.length });
  const isChance = refusal !== null && failure(refusal).retryable && newest.doubted === undefined;
  if (isChance) return turnContext.doubt([newest]);
  turnContext.leaveOut([newest]);
  turnContext.addStep({ ...told, why: 'refused', turns: 1 });
}
