/** The conversation and the sender of a message, for tables. */
import { completionsChannel } from '../../../src/domain/ids.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import type { Column } from '../../kit/table.tsx';
import { useToken } from '../../kit/token.ts';
import { useOrigin } from './origins.ts';
import { conversationPlace } from './places.ts';

type Props = { readonly message: string | null; readonly className?: string };

/** A link to the conversation of a message; a dash if it is not known, or svc keeps none. */
export function ConversationOf({ message, className = '' }: Props) {
  const origin = useOrigin(message);
  if (origin === null || origin.channel === completionsChannel) return <>–</>;
  return (
    <Link to={conversationPlace(origin.conversationId)} className={`wrap-anywhere ${className}`}>
      <AsWritten text={origin.conversation} />
    </Link>
  );
}

/** The sender of a message, by the platform's name. */
export function SenderOf({ message }: { readonly message: string }) {
  const sender = useOrigin(message)?.sender ?? null;
  return sender === null ? <>–</> : <AsWritten text={sender.name ?? sender.id} />;
}

/** A table column with the conversation of each row's message; none if nobody is signed in. */
export function useConversationColumn<Row>(
  messageOf: (row: Row) => string | null,
): readonly Column<Row>[] {
  const isOperator = useToken(({ token }) => token !== null);
  if (!isOperator) return [];
  const cell = (row: Row) => <ConversationOf message={messageOf(row)} />;
  return [{ title: 'Conversation', cell }];
}
