/**
 * The sensitivity label of a text: whether models elsewhere may read it. svc labels a message when
 * it accepts it, and labels everything that comes of it. The label belongs to the text. It never
 * becomes weaker, even if the configuration changes.
 */
export type Sensitivity = 'public' | 'private';

/** Private if one of the labels is private; public if there are none. */
export function strictest(...all: readonly Sensitivity[]): Sensitivity {
  return all.every((one) => one === 'public') ? 'public' : 'private';
}
