/** What a ledger is kept in. */
export const storageForms = ['memory', 'sqlite'] as const;

export type StorageForm = (typeof storageForms)[number];
