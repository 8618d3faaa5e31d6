/** What svc has made of the attachments of a message, for the brain that answers it. */
import { failure, failureKinds, type Failure, type FailureKind } from './failure.ts';
import { speechRemedy } from './remedy.ts';

/** A picture as svc made it anew: no more than `picturesMax` of a message. */
export type Picture = {
  readonly type: 'image/jpeg' | 'image/png';
  readonly bytes: Uint8Array;
};

/**
 * One attachment. `name` is its file's name, or its kind. `why` is a sentence of svc's own for the
 * person: why it could not be read.
 */
export type Attachment =
  | { readonly kind: 'picture'; readonly name: string; readonly picture: Picture }
  | { readonly kind: 'text'; readonly name: string; readonly text: string }
  | { readonly kind: 'spoken'; readonly name: string; readonly text: string }
  | { readonly kind: 'unread'; readonly name: string; readonly why: string };

export const picturesMax = 4;

// Why something that came with a message was not read, for who runs the service: no text of it.

/** What is done with a file: it is fetched, and then one of the others. `other`: nothing can be. */
const parts = {
  download: { done: 'fetched a file', failed: 'a file was not fetched' },
  speech: { done: 'wrote down what was spoken', failed: 'a voice message was not written down' },
  picture: { done: 'looked at a picture', failed: 'a picture was not read' },
  text: { done: 'read a text', failed: 'a text file was not read' },
  other: { done: 'read a file', failed: 'a file was not read' },
} as const;

export type ReadingPart = keyof typeof parts;
export const readingParts = Object.keys(parts) as readonly ReadingPart[];

/** What is no failure of anything outside. */
const ownReasons = {
  too_large: 'it is larger than what is read',
  too_many: 'more came with its message than is read',
  too_costly: 'making the picture anew takes too much memory or time',
  unsupported: 'nothing of its kind is read',
  broken: 'it is damaged, or not what it is said to be',
  not_utf8: 'its text is in an encoding that is not read',
  not_listened: 'the channel has no speech server (channels[].speech)',
  no_room: 'others had taken all the room there is until its time was over',
} as const;

type OwnReason = keyof typeof ownReasons;
export type UnreadReason = FailureKind | OwnReason;
export const unreadReasons: readonly UnreadReason[] = [
  ...failureKinds,
  ...(Object.keys(ownReasons) as OwnReason[]),
];

/** `detail`: our own words. */
export type Unread = {
  readonly part: ReadingPart;
  readonly reason: UnreadReason;
  readonly detail: string;
};

export function unreadFor(part: ReadingPart, reason: OwnReason): Unread {
  return { part, reason, detail: ownReasons[reason] };
}

export function unreadBy(part: ReadingPart, { kind, detail }: Failure): Unread {
  return { part, reason: kind, detail };
}

function isOwn(reason: UnreadReason): reason is OwnReason {
  return Object.hasOwn(ownReasons, reason);
}

/** Whether a person who runs the service may want to act: the rest is the sender's to mend. */
export function isOperatorsMatter({ reason }: Unread): boolean {
  return isOwn(reason) ? reason === 'no_room' : reason !== 'empty_answer';
}

/** A line of the log, with what can be done. */
export function describeUnread({ part, reason, detail }: Unread): string {
  const isOfSpeech = part === 'speech' && !isOwn(reason) && reason !== 'empty_answer';
  const remedy = isOfSpeech ? ` ${speechRemedy(reason)}` : '';
  return `${parts[part].failed}: ${detail}.${remedy}`;
}

/** What came of a file, in words. */
export function describeRead(part: ReadingPart, result: 'read' | UnreadReason): string {
  if (result === 'read') return parts[part].done;
  const why = isOwn(result) ? ownReasons[result] : failure(result).detail;
  return `${parts[part].failed}: ${why}`;
}
