import { Link } from '../../kit/link.tsx';
import { useToken } from '../../kit/token.ts';
import { ConversationOf } from './conversation-of.tsx';
import { useOrigin } from './origins.ts';
import { deliveriesPlace, turnPlace } from './places.ts';

/** Links from a dead letter to the conversation and the deliveries of its message. */
export function LetterLinks({ message }: { readonly message: string }) {
  const isOperator = useToken(({ token }) => token !== null);
  const origin = useOrigin(message);
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1">
      {isOperator ? (
        <span>
          Conversation: <ConversationOf message={message} />
        </span>
      ) : null}
      {origin === null ? null : (
        <Link to={turnPlace(origin.conversationId, message)}>Its turn</Link>
      )}
      <Link to={deliveriesPlace(message)}>Deliveries of the message</Link>
    </p>
  );
}
