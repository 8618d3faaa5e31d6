import type { Attachment, Picture } from '../domain/attachment.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';

/** The part of the ledger that keeps what was read of what came with messages. */
export interface KeptAttachments<InClaim> {
  /**
   * Keeps them with the claim's message, as private as it, in place of what an earlier run of it
   * kept: they go when it goes. False: the claim is over, or nothing can be written now.
   */
  keep(claim: InClaim, attachments: readonly Attachment[]): Promise<boolean>;
  /** What an earlier run of the message kept; null: nothing, or it cannot be read. */
  of(claim: InClaim): Promise<readonly Attachment[] | null>;
  /**
   * What was kept of the settled messages of the conversation that were accepted at that time, each
   * apart. None without storage, or where it cannot be read.
   */
  acceptedAt(claim: InClaim, at: number): Promise<readonly (readonly Attachment[])[]>;
  /**
   * The newest n pictures of settled messages of the conversation that were accepted at `since`
   * or later, newest first. None without storage, or where they cannot be read.
   */
  picturesSince(claim: InClaim, since: number, n: number): Promise<readonly KeptPicture[]>;
}

/** `at`: when its message was accepted, milliseconds since 1970. */
export type KeptPicture = {
  readonly at: number;
  readonly sensitivity: Sensitivity;
  readonly picture: Picture;
};
