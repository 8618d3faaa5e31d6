/** What was read of pictures and files, kept with the message that they came with. */
import type { Attachment, Picture } from '../../domain/attachment.ts';
import type { Media } from '../../domain/message.ts';
import type { KeptAttachments, KeptPicture, InClaim } from '../ledger.ts';
import type { StoredAttachments } from './storage.ts';
import type { OpenClaims } from './claims.ts';

/** Serves a claim only while it is open, so that nothing of a forgotten message is written. */
export class ClaimedAttachments implements KeptAttachments {
  readonly #open: OpenClaims;
  readonly #stored: StoredAttachments;

  constructor(open: OpenClaims, stored: StoredAttachments) {
    this.#open = open;
    this.#stored = stored;
  }

  async keep(claim: InClaim, attachments: readonly Attachment[]): Promise<boolean> {
    if (!this.#open.has(claim)) return false;
    const written = await this.#stored.keep(claim.message, attachments);
    return written && this.#open.has(claim);
  }

  async of(claim: InClaim): Promise<readonly Attachment[] | null> {
    if (!this.#open.has(claim)) return null;
    try {
      const kept = await this.#stored.of(claim.message);
      return kept.length === 0 ? null : kept;
    } catch {
      return null;
    }
  }

  async acceptedAt(claim: InClaim, at: number): Promise<readonly (readonly Attachment[])[]> {
    if (!this.#open.has(claim)) return [];
    try {
      return await this.#stored.acceptedAt(claim.message, at);
    } catch {
      return [];
    }
  }

  async picturesSince(claim: InClaim, since: number, n: number): Promise<readonly KeptPicture[]> {
    if (!this.#open.has(claim)) return [];
    try {
      return await this.#stored.picturesSince(claim.message, since, n);
    } catch {
      return [];
    }
  }
}

/** Keeps attachments as long as the message is at work, since its media is a part of it. */
export function attachmentsInMemory(): StoredAttachments {
  const kept = new WeakMap<Media, readonly Attachment[]>();
  return {
    async keep({ media }, attachments) {
      if (media !== null) kept.set(media, attachments);
      return true;
    },
    of: ({ media }) => (media === null ? [] : (kept.get(media) ?? [])),
    acceptedAt: () => [],
    picturesSince: () => [],
  };
}

/** `content`: a text, or a picture in base64. `type`: the type of a picture, else null. */
export type AttachmentRow = {
  readonly place: number;
  readonly kind: Attachment['kind'];
  readonly name: string;
  readonly type: string | null;
  readonly content: string;
};

export function attachmentRows(attachments: readonly Attachment[]): readonly AttachmentRow[] {
  return attachments.map((one, place) => {
    const row = { place, kind: one.kind, name: one.name, type: null };
    switch (one.kind) {
      case 'picture': {
        const { type, bytes } = one.picture;
        return { ...row, type, content: Buffer.from(bytes).toString('base64') };
      }
      case 'text':
      case 'spoken':
        return { ...row, content: one.text };
      case 'unread':
        return { ...row, content: one.why };
      default:
        return one satisfies never;
    }
  });
}

/** A kind that this release does not know becomes `unread`. */
export function attachmentOf({ kind, name, type, content }: Record<string, unknown>): Attachment {
  const named = String(name);
  const text = String(content);
  switch (kind) {
    case 'picture':
      return { kind, name: named, picture: pictureOf(type, text) };
    case 'text':
    case 'spoken':
      return { kind, name: named, text };
    default:
      return { kind: 'unread', name: named, why: text };
  }
}

export function pictureOf(type: unknown, content: string): Picture {
  const known = type === 'image/png' ? type : 'image/jpeg';
  return { type: known, bytes: Buffer.from(content, 'base64') };
}

/** Groups rows by their `message_id`, in the order of the rows. */
export function byMessage(rows: readonly Record<string, unknown>[]): readonly Attachment[][] {
  return [...Map.groupBy(rows, (row) => row['message_id']).values()].map((of) =>
    of.map(attachmentOf),
  );
}

/** A message gets its id at most this long before it is accepted. */
export const idLagMs = 60_000;
