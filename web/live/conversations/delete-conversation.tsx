import type { ConversationText } from '../../../src/domain/story.ts';
import { goTo } from '../../kit/place.ts';
import { some } from '../../kit/words.ts';
import { ConfirmedDelete } from './confirmed.tsx';
import { pathOf } from './path-of.ts';

export function DeleteConversation({ conversation }: { readonly conversation: ConversationText }) {
  const { turns, waiting } = conversation;
  return (
    <ConfirmedDelete
      label="Delete"
      question="Delete this conversation?"
      path={`conversations/${pathOf(conversation)}`}
      onDone={() => goTo({ view: 'conversations' }, { replace: true })}
    >
      <p>
        {some(turns, 'turn')}, the notes of it
        {waiting > 0 ? `, and ${waiting} that wait or are at work` : ''} are deleted. Nothing of it
        can be brought back.
      </p>
    </ConfirmedDelete>
  );
}
