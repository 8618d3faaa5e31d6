/** What goes between the wizard's listener and its page; the page takes the types from here. */
import type { Page } from '../setup.ts';

/** Holds no value of a secret: a page holds none. */
export type WizardState = { readonly revision: number; readonly page: Page };
