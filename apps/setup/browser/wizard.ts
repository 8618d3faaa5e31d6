/** The types that the wizard's listener and its page share; the page imports them from here. */
import type { Frontend, Page } from '../setup.ts';

/** It holds no value of a secret, since a page holds none. */
export type WizardState = {
  readonly revision: number;
  readonly page: Page;
  /** In a window, no text mentions a terminal. */
  readonly frontend: Frontend;
  /** True with the last page: the application starts the service, and its own page leads there. */
  readonly goesOn: boolean;
};
