/**
 * Messages in one shape for all channels: as a channel hands them in, and as the ledger keeps them.
 */
import type { ApprovalId, ChannelKey, ConversationId, MessageId } from './ids.ts';
import type { RouteTaken } from './routing.ts';
import type { Sensitivity } from './sensitivity.ts';

/** What one person wrote. A message has a sender and content: text or media. */
export type Message = {
  readonly id: MessageId;
  readonly channel: ChannelKey;
  readonly conversation: ConversationId;
  readonly sender: Sender;
  /** The text exactly as it came; empty if only media came. */
  readonly text: string;
  readonly media: Media | null;
  /** More media of the message, such as the other pictures of an album; absent: none. */
  readonly further?: readonly Media[];
  /** The context of the message on its platform; absent: nothing of note. */
  readonly context?: MessageContext;
  /** The message may be merged with messages that follow it; absent: it stands alone. */
  readonly gather?: Gather;
  readonly address: Address;
  /** Milliseconds since 1970, by this machine's clock. */
  readonly acceptedAt: number;
  /** The label of the brain of its route. It never becomes weaker. */
  readonly sensitivity: Sensitivity;
  /**
   * The route that svc chose when it accepted the message. Absent: an older release accepted it, so
   * it takes a route when it is claimed.
   */
  readonly route?: RouteTaken;
  /**
   * Other ids of its chat that a route may name: the former id of a group, the channel of a
   * thread. Absent: none.
   */
  readonly chatAliases?: readonly string[];
  /** Only on a stranger's message: the reply has this code, and svc keeps none of the text. */
  readonly pairingCode?: string;
  /**
   * The message continues an approval: nobody wrote it, and it has no text. In the conversation
   * that asked, it is the follow-up turn. In another conversation it asks the approvers.
   */
  readonly approval?: ApprovalId;
  /**
   * Nobody wrote this message, and it has no text: svc tells a new person that they are admitted.
   */
  readonly welcome?: true;
  /**
   * The platform's message that already shows the beginning of the reply, from this process or an
   * earlier one. Only its channel understands the value; absent: no message does.
   */
  readonly preview?: string;
};

/** The context of a message, as its platform shows it to people. */
export type MessageContext = {
  /** The message comes from a group: the model sees the speaker's name. */
  readonly inGroup?: true;
  /**
   * The message was for others in the group, and svc hears it since it hears all. Only the gate
   * sets this.
   */
  readonly overheard?: true;
  /** The message that this one replies to, or quotes. */
  readonly quoted?: Quoted;
  /** The name of the source of a forwarded text; null: the platform does not say. */
  readonly forwardedFrom?: string | null;
  /**
   * The bot that wrote the forwarded text, and when: milliseconds since 1970 by the platform's
   * clock. Absent: no bot wrote it, or the platform does not say.
   */
  readonly forwardedBot?: { readonly id: string; readonly at: number };
};

/** A message that another one refers to, cut to `quotedCharactersMax`. */
export type Quoted = {
  /** The text of the quoted message; empty if it had only media. */
  readonly text: string;
  /** The media of the quoted message, each with the means to fetch it; absent: none. */
  readonly media?: readonly Media[];
  /** `us`: svc's own reply. */
  readonly by: 'us' | 'sender' | 'other';
  readonly name: string | null;
  /**
   * When the quoted message was written, milliseconds since 1970 by the platform's clock. 0:
   * unknown, or written where it may be private, such as by another bot or in another chat.
   */
  readonly at: number;
  /**
   * The quoted message comes from another chat. `open`: anybody can read that chat. `closed`: maybe
   * not. Absent: it comes from this chat.
   */
  readonly elsewhere?: 'open' | 'closed';
};

export const quotedCharactersMax = 2_000;

/**
 * Until when a message waits for others to be merged with it. `album`: the messages of the same
 * key. `burst`: messages of the same person within the time, by the platform's clock if it is
 * known.
 */
export type Gather =
  | { readonly kind: 'album'; readonly key: string; readonly ms: number }
  | { readonly kind: 'burst'; readonly ms: number; readonly saidAt?: PlatformTime };

/** Milliseconds since 1970 by a platform's clock, which counts in steps. */
export type PlatformTime = { readonly at: number; readonly stepMs: number };

/** The shortest time that can lie between the two. */
export function apartMs(one: PlatformTime, other: PlatformTime): number {
  return Math.abs(other.at - one.at) + 1 - Math.max(one.stepMs, other.stepMs);
}

export type Sender = { readonly id: string; readonly name: string | null };

/**
 * An attachment. `reference` is a URL, or on messengers a file name; svc never fetches it. `file`
 * lets a messenger fetch the file with its own token. Only its channel understands `file`, and it
 * is never a URL; absent: svc cannot fetch it. `bytes` is the size that the platform states.
 */
export type Media = {
  readonly type: string | null;
  readonly reference: string;
  readonly file?: string;
  readonly bytes?: number;
};

type WithMedia = Pick<Message, 'media' | 'further'>;

/** All media of a message. */
export function mediaOf({ media, further = [] }: WithMedia): readonly Media[] {
  return media === null ? further : [media, ...further];
}

/** Where a reply goes, fixed when the message came. Only its channel understands `target`. */
export type Address = { readonly channel: ChannelKey; readonly target: string };

/**
 * Where a person wrote a message.
 * - `direct`: to svc alone.
 * - `addressed`: in a group, to svc: it mentions svc, replies to svc, or is a command with svc's
 *   name.
 * - `command`: in a group, a command without a name.
 * - `overheard`: in a group, to others.
 */
export type Setting = 'direct' | 'addressed' | 'command' | 'overheard';

/** Tells a resend from another message with the same key. */
export type KeyCheck = {
  /** A digest of the content. svc refuses the same key with another digest. */
  readonly fingerprint: string;
  /** The key as older versions made it, without conversation and sender. */
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
  /** When the person wrote it; absent: the platform does not tell. */
  readonly saidAt?: PlatformTime;
  /**
   * Why svc does not merge this message into a burst of one person. `edit`: it changes an earlier
   * message, and is no part of an album either. `anonymous`: nobody knows which person wrote it.
   * Absent: svc may merge it.
   */
  readonly apart?: 'edit' | 'anonymous';
  /** For an edit: the `dedupeKey` of the message that it changes. */
  readonly edits?: string;
  /** As in `Message`. */
  readonly chatAliases?: readonly string[];
  readonly address: Address;
  /** Identifies a resend; null: the sender gave nothing to identify it. */
  readonly dedupeKey: string | null;
  /** For channels where senders choose the keys. Absent: the key alone identifies a resend. */
  readonly keyCheck?: KeyCheck;
  /** Every messenger sets it. The webhook does not, since all its messages are for svc. */
  readonly setting?: Setting;
  /** Only the gate sets this. */
  readonly pairingCode?: string;
  /** Only svc itself sets these two, as in `Message`. */
  readonly approval?: ApprovalId;
  readonly welcome?: true;
  /** Only svc itself sets these two. Without a label the ledger treats the message as private. */
  readonly sensitivity?: Sensitivity;
  readonly route?: RouteTaken;
};
