import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import type { Column } from '../../kit/table.tsx';
import { useToken } from '../../kit/token.ts';
import { useOrigin } from './origins.ts';
import { conversationPlace } from './places.ts';

type Props = { readonly message: string | null; readonly className?: string };

/** A link to the conversation of a message; a dash where that is not known. */
export function ConversationOf({ message, className = '' }: Props) {
  const origin = useOrigin(message);
  if (origin === null) return <>–</>;
  return (
    <Link to={conversationPlace(origin.conversationId)} className={`wrap-anywhere ${className}`}>
      <AsWritten text={origin.conversation} />
    </Link>
  );
}

/** Who sent a message, by the name that the platform gave. */
export function SenderOf({ message }: { readonly message: string }) {
  const sender = useOrigin(message)?.sender ?? null;
  return sender === null ? <>–</> : <AsWritten text={sender.name ?? sender.id} />;
}

/** The column of a table in which each row has a message; none where nobody is signed in. */
export function useConversationColumn<Row>(
  messageOf: (row: Row) => string | null,
): readonly Column<Row>[] {
  const isOperator = useToken(({ token }) => token !== null);
  if (!isOperator) return [];
  const cell = (row: Row) => <ConversationOf message={messageOf(row)} />;
  return [{ title: 'Conversation', cell }];
}
