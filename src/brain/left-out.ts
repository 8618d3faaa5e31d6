/** What some models were not shown of a conversation, as the trace tells it. */
import type { TurnRow } from '../domain/conversation.ts';
import type { Desk } from './brain.ts';
import type { ModelCall } from './model-call.ts';
import { turnsIn } from './shield.ts';

type Asked = Pick<ModelCall, 'model' | 'view'>;

/**
 * To be called once the models have been asked.
 * @param notes how many notes are private
 * @param chosen whose answer is the reply, or is acted on; null: nobody's
 */
export function tellLeftOut(
  history: readonly TurnRow[],
  notes: number,
  calls: readonly Asked[],
  chosen: Asked | null,
  desk: Desk,
): void {
  const secret = history.filter(({ sensitivity }) => sensitivity === 'private').length;
  if (secret + notes > 0) {
    const models = calls.filter(({ view }) => !view.private).map(({ model }) => model);
    if (models.length > 0) {
      desk.addStep({ kind: 'left_out', why: 'private', models, turns: secret, notes });
    }
    if (chosen?.view.private === true) desk.becomePrivate();
  }
  if (chosen === null || chosen.view.unanswered) return;
  const shown = turnsIn(history, { ...chosen.view, unanswered: true });
  const refused = shown.filter(({ reply, quoted }) => reply === null && quoted === undefined);
  const models = [chosen.model];
  desk.leaveOut(refused);
  desk.addStep({ kind: 'left_out', why: 'unanswered', models, turns: refused.length, notes: 0 });
}
