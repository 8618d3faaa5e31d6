/** What came of one file, and who is told of it. */
import type { Attachment } from '../../domain/attachment.ts';
import type { Events } from '../../domain/event.ts';
import type { Failure } from '../../domain/failure.ts';
import type { Media, Message } from '../../domain/message.ts';
import { unreadBy, unreadFor, type ReadingPart, type Unread } from '../../domain/unread.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { FileKind } from './file-types.ts';

/** `why`: the sentence for the person. */
export type FileRead =
  | { readonly kind: 'read'; readonly attachment: Exclude<Attachment, { kind: 'unread' }> }
  | { readonly kind: 'unread'; readonly why: string; readonly unread: Unread };

export function notRead(
  part: ReadingPart,
  reason: Parameters<typeof unreadFor>[1],
  why: string,
): FileRead {
  return { kind: 'unread', why, unread: unreadFor(part, reason) };
}

export function failedToRead(part: ReadingPart, failure: Failure, why: string): FileRead {
  return { kind: 'unread', why, unread: unreadBy(part, failure) };
}

/** What is to be done with a file of that kind once it is there. */
export const partOf: Readonly<Record<FileKind, ReadingPart>> = {
  picture: 'picture',
  text: 'text',
  untold: 'text',
  spoken: 'speech',
  unknown: 'other',
};

/** `startMs`: from when the first file of its message was begun. */
export type TimedRead = FileRead & { readonly startMs: number; readonly ms: number };

export type Telling = {
  readonly deps: { readonly events: Pick<Events, 'attachmentUnread'> };
  readonly message: Message;
  readonly turnContext: Pick<PipelineTurnContext, 'stop' | 'addStep'>;
};

/** Tells the operator and the trace; a turn that was stopped reads again, and tells then. */
export function tellRead(
  { deps, message: { channel }, turnContext }: Telling,
  { reference: name }: Media,
  { startMs, ms, ...read }: TimedRead,
): Attachment {
  if (read.kind === 'read') {
    const part = partOf[read.attachment.kind];
    turnContext.addStep({ kind: 'file', part, result: 'read', startMs, ms });
    return read.attachment;
  }
  const { why, unread } = read;
  if (!turnContext.stop.stopped) {
    deps.events.attachmentUnread({ channel, ...unread });
    turnContext.addStep({ kind: 'file', part: unread.part, result: unread.reason, startMs, ms });
  }
  return { kind: 'unread', name, why };
}
