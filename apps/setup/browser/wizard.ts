/** What goes between the wizard's listener and its page; the page takes the types from here. */
import type { Frontend, Page } from '../setup.ts';

/** Holds no value of a secret: a page holds none. */
export type WizardState = {
  readonly revision: number;
  readonly page: Page;
  /** In a window nobody is told of a terminal. */
  readonly frontend: Frontend;
  /** With the last page: the application begins the service, and its own page leads there. */
  readonly goesOn: boolean;
};
