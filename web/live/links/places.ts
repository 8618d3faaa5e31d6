/** The places of a message, its conversation, its turn, its deliveries and its dead letters. */
import type { Place } from '../../kit/place.ts';

export const messagePlace = (id: string): Place => ({ view: 'message', id });

/** @param id svc's own id */
export const conversationPlace = (id: string): Place => ({ view: 'conversations', open: id });

/** @param message that the turn answers, which identifies the turn */
export const turnPlace = (conversation: string, message: string): Place => ({
  ...conversationPlace(conversation),
  turn: message,
});

export const deliveriesPlace = (message: string): Place => ({ view: 'deliveries', message });

export const lettersPlace = (message: string): Place => ({ view: 'dead-letters', message });
