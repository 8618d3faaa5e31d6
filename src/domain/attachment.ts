/** What svc has made of the attachments of a message, for the brain that answers it. */

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
