/** What goes between the wizard's listener and its page; the page takes the types from here. */
import type { Face, Page } from '../setup.ts';

/** Holds no value of a secret: a page holds none. */
export type WizardState = {
  readonly revision: number;
  readonly page: Page;
  /** In a window nobody is told of a terminal. */
  readonly face: Face;
  /** With the last page: the application begins the service, and its own page leads there. */
  readonly goesOn: boolean;
};
