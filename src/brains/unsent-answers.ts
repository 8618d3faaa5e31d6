import { keptText } from '../domain/kept-text.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import type { TurnContext } from './brain.ts';
import type { ModelCall } from './model-call.ts';

/** At most so many answers of a turn are kept beside its reply. */
const unsentMax = 16;

/**
 * What the models answered that were not chosen. A turn with one answer has none of these.
 * @param calls best rank first
 * @param chosen whose answer is the reply; null: nobody's
 */
export function reportUnsent(
  calls: readonly Pick<ModelCall, 'model' | 'outcome'>[],
  chosen: Pick<ModelCall, 'model' | 'outcome'> | null,
  turnContext: Pick<TurnContext, 'keepUnsent'>,
): void {
  if (calls.length === 1 && chosen !== null) return;
  const unsent: UnsentAnswer[] = [];
  for (const call of calls) {
    if (call === chosen || call.outcome?.kind !== 'answer') continue;
    unsent.push({ model: call.model, text: keptText(call.outcome.text) });
    if (unsent.length === unsentMax) break;
  }
  if (unsent.length > 0) turnContext.keepUnsent(unsent);
}
