/**
 * The attachments of a message as svc prepares them for the brain that answers, and the reasons why
 * svc did not read one.
 */
import { failure, failureKinds, type Failure, type FailureKind } from './failure.ts';
import { speechRemedy } from './remedy.ts';

/** A picture that svc encoded again. A message has at most `picturesMax` of them. */
export type Picture = {
  readonly type: 'image/jpeg' | 'image/png';
  readonly bytes: Uint8Array;
};

/**
 * One attachment. `name` is the name of its file, or its kind. `why` is svc's own sentence for the
 * person: why svc could not read the file.
 */
export type Attachment =
  | { readonly kind: 'picture'; readonly name: string; readonly picture: Picture }
  | { readonly kind: 'text'; readonly name: string; readonly text: string }
  | { readonly kind: 'spoken'; readonly name: string; readonly text: string }
  | { readonly kind: 'unread'; readonly name: string; readonly why: string };

export const picturesMax = 4;

/** JPEG, PNG and GIF (its first frame), by the MIME types that platforms use. */
export const pictureTypes: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/jpg',
  'image/png',
  'image/gif',
]);

// The reasons for the operator, without any text of the attachment.

/**
 * The steps of reading a file: svc fetches it, then one of the other steps follows. `other`: svc
 * can do nothing with such a file.
 */
const parts = {
  download: { done: 'fetched a file', failed: 'a file was not fetched' },
  speech: { done: 'wrote down what was spoken', failed: 'a voice message was not written down' },
  picture: { done: 'looked at a picture', failed: 'a picture was not read' },
  text: { done: 'read a text', failed: 'a text file was not read' },
  other: { done: 'read a file', failed: 'a file was not read' },
} as const;

export type ReadingPart = keyof typeof parts;
export const readingParts = Object.keys(parts) as readonly ReadingPart[];

/** Reasons that are not failures of anything outside svc. */
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

/** `detail`: svc's own words. */
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

/** Whether the operator may want to act. All other reasons are for the sender to solve. */
export function isOperatorsMatter({ reason }: Unread): boolean {
  return isOwn(reason) ? reason === 'no_room' : reason !== 'empty_answer';
}

/** The log line, with a remedy if there is one. */
export function describeUnread({ part, reason, detail }: Unread): string {
  const isSpeechFailure = part === 'speech' && !isOwn(reason) && reason !== 'empty_answer';
  const remedy = isSpeechFailure ? ` ${speechRemedy(reason)}` : '';
  return `${parts[part].failed}: ${detail}.${remedy}`;
}

/** The result for one file, in words. */
export function describeRead(part: ReadingPart, result: 'read' | UnreadReason): string {
  if (result === 'read') return parts[part].done;
  const why = isOwn(result) ? ownReasons[result] : failure(result).detail;
  return `${parts[part].failed}: ${why}`;
}
