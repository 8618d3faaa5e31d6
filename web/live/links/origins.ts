/** The senders and conversations of messages, for the operator. */
import type { MessageOrigin } from '../../../src/domain/story.ts';
import { useToken } from '../../kit/token.ts';
import { createByMessage } from './by-message.ts';

const origins = createByMessage<MessageOrigin>(() => 'messages/origins?');

/** @returns null: nobody is signed in, the origin is gone, or it is being read */
export function useOrigin(message: string | null): MessageOrigin | null {
  const isOperator = useToken(({ token }) => token !== null);
  return origins.useRow(isOperator ? message : null) ?? null;
}

/** The origins that are known so far. */
export const { useRows: useOrigins, read: readOrigins } = origins;
