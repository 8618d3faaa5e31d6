import type { ApprovalId, ChannelKey, ConversationId, MessageId } from './ids.ts';
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
  /** What came with it besides, as the others of an album; absent: nothing. */
  readonly further?: readonly Media[];
  /** What a person sees around it; absent: nothing of note. */
  readonly context?: MessageContext;
  /** It may be one message with those that follow it; absent: it stands alone. */
  readonly gather?: Gather;
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
  /** Nobody wrote it, and it has no text: svc tells who was just let in that they are. */
  readonly welcome?: true;
  /**
   * The platform's message that shows the beginning of the reply already, from this process or one
   * before it. Opaque to all but its channel; absent: none does.
   */
  readonly preview?: string;
};

/** What a person sees around a message, as its platform shows it. */
export type MessageContext = {
  /** It was said in a group: who speaks is told by name. */
  readonly inGroup?: true;
  /** It was said to others there, and is heard since all is. Set by the gate alone. */
  readonly overheard?: true;
  /** What it replies to, or quotes. */
  readonly quoted?: Quoted;
  /** From whom or what its text was forwarded, by name; null: the platform does not say. */
  readonly forwardedFrom?: string | null;
};

/** A message that another one refers to, cut to `quotedCharactersMax`. */
export type Quoted = {
  /** Its own words; empty where only media came. */
  readonly text: string;
  /** What came with it, each with the means to fetch it; absent: nothing. */
  readonly media?: readonly Media[];
  /** `us`: svc's own reply. */
  readonly by: 'us' | 'sender' | 'other';
  readonly name: string | null;
  /**
   * When it was said, milliseconds since 1970 by the platform's clock. 0: not known, or said where
   * it may be private, as by another bot or in another chat.
   */
  readonly at: number;
  /** It comes from another chat, which anybody can read, or maybe not; absent: it was said here. */
  readonly elsewhere?: 'open' | 'closed';
};

export const quotedCharactersMax = 2_000;

/**
 * Until when a message waits for others that are one with it. `album`: those of the same key.
 * `burst`: what the same person says within the time, by the platform's clock where it is told.
 */
export type Gather =
  | { readonly kind: 'album'; readonly key: string; readonly ms: number }
  | { readonly kind: 'burst'; readonly ms: number; readonly saidAt?: PlatformTime };

/** Milliseconds since 1970 by a platform's clock, which counts in steps. */
export type PlatformTime = { readonly at: number; readonly stepMs: number };

/** How far they are apart at least. */
export function apartMs(one: PlatformTime, other: PlatformTime): number {
  return Math.abs(other.at - one.at) + 1 - Math.max(one.stepMs, other.stepMs);
}

export type Sender = { readonly id: string; readonly name: string | null };

/**
 * An attachment. `reference` is a URL, or on messengers a file name; it is never fetched. `file` is
 * by what a messenger fetches it with its own token, opaque to all but its channel and never a URL;
 * absent: it cannot be. `bytes` is how large the platform says that it is.
 */
export type Media = {
  readonly type: string | null;
  readonly reference: string;
  readonly file?: string;
  readonly bytes?: number;
};

type WithMedia = Pick<Message, 'media' | 'further'>;

/** All that came with a message. */
export function mediaOf({ media, further = [] }: WithMedia): readonly Media[] {
  return media === null ? further : [media, ...further];
}

/** Where a reply goes, frozen when the message came. `target` is opaque to all but its channel. */
export type Address = { readonly channel: ChannelKey; readonly target: string };

/**
 * Where a message was said: to us alone; in a group, to us (a mention of us, a reply to us, a
 * command with our name); in a group, a command that names nobody, to whoever knows it; in a group,
 * to others.
 */
export type Setting = 'direct' | 'addressed' | 'command' | 'overheard';

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
  readonly further?: readonly Media[];
  readonly context?: MessageContext;
  readonly gather?: Gather;
  /** When it was said; absent: the platform does not tell. */
  readonly saidAt?: PlatformTime;
  /**
   * Why it is joined to nothing that one person says in a burst: it changes what was said before,
   * and is no piece of an album either; nobody knows who of several said it. Absent: it may be.
   */
  readonly apart?: 'edit' | 'anonymous';
  /** Of an edit: the `dedupeKey` of the message that it changes. */
  readonly edits?: string;
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
  readonly welcome?: true;
  /** Set by svc itself alone; without it the message is private in the ledger. */
  readonly sensitivity?: Sensitivity;
};
