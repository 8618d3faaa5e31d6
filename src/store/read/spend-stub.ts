/** Stands where the forms of the ledger do not tell yet what was spent. */
export const spentNothing = (): never[] => [];
