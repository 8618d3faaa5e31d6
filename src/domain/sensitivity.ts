/**
 * Whether a text may be read by models elsewhere. A message is stamped with it when it is accepted,
 * and so is all that comes of it. The stamp lies on the text and never becomes weaker, whatever
 * becomes of the configuration.
 */
export type Sensitivity = 'public' | 'private';

/** Private as soon as one of them is; public where there is none. */
export function strictest(...all: readonly Sensitivity[]): Sensitivity {
  return all.every((one) => one === 'public') ? 'public' : 'private';
}
