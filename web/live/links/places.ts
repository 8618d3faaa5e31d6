/** Where a message, its conversation, its turn, its deliveries and its dead letters are shown. */
import type { Place } from '../../kit/place.ts';

export const messagePlace = (id: string): Place => ({ view: 'message', id });

/** @param id of svc's own */
export const conversationPlace = (id: string): Place => ({ view: 'conversations', open: id });

/** @param message the one that the turn answers, by which the turn is known */
export const turnPlace = (conversation: string, message: string): Place => ({
  ...conversationPlace(conversation),
  turn: message,
});

export const deliveriesPlace = (message: string): Place => ({ view: 'deliveries', message });

export const lettersPlace = (message: string): Place => ({ view: 'dead-letters', message });
