import type { ApprovalId } from './approval.ts';
import type { ChannelKey, ConversationId, MessageId } from './ids.ts';
import type { Sensitivity } from './sensitivity.ts';

/** What one person said, in our shape. A message has a sender and content: text or media. */
export type Message = {
  readonly id: MessageId;
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly sender: Sender;
  /** Character for character as it came; empty when only media came. */
  readonly text: string;
  readonly media: Media | null;
  readonly address: Address;
  /** Milliseconds since 1970, by this machine's clock. */
  readonly acceptedAt: number;
  /** That of the brain which the channel's route named when the message was accepted. */
  readonly sensitivity: Sensitivity;
  /** Only on a stranger's message: it is answered with this code, and none of its text is kept. */
  readonly pairingCode?: string;
  /**
   * Nobody wrote it, and it has no text: svc goes on with an approval. In the conversation that
   * asked it is the turn that follows; in another one it puts the question to who may decide.
   */
  readonly approval?: ApprovalId;
};

export type Sender = { readonly id: string; readonly name: string | null };

/** An attachment. `reference` is a URL, or on messengers a file name; it is never fetched. */
export type Media = { readonly type: string | null; readonly reference: string };

/** Where a reply goes, frozen when the message came. `target` is opaque to all but its channel. */
export type Address = { readonly channel: ChannelKey; readonly target: string };

/**
 * Where a message was said: to us alone; in a group, to us (a mention of us, a reply to us, a
 * command with our name); in a group, to others.
 */
export type Setting = 'direct' | 'addressed' | 'overheard';

/** Tells a resend from another message with the same key. */
export type KeyCheck = {
  /** A digest of what was said: the same key with another one is refused. */
  readonly fingerprint: string;
  /** What the key was before it was made of conversation and sender, too. */
  readonly formerKey: string;
};

/** A message as a channel hands it in, before the ledger gives it an id and a time. */
export type Inbound = {
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly sender: Sender;
  readonly text: string;
  readonly media: Media | null;
  readonly address: Address;
  /** Makes a resend recognisable; null when the sender gave nothing to know it by. */
  readonly dedupeKey: string | null;
  /** Where senders choose the keys. Absent: the key alone tells a resend. */
  readonly keyCheck?: KeyCheck;
  /** Every messenger sets it; on the webhook it is absent, since all is said to us. */
  readonly setting?: Setting;
  /** Set by the gate alone. */
  readonly pairingCode?: string;
  /** Set by svc itself alone, as in `Message`. */
  readonly approval?: ApprovalId;
  /** Set by the pipeline alone; without it the message is private. */
  readonly sensitivity?: Sensitivity;
};
