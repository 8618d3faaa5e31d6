/** What a ledger is kept in. */
export const storageForms = ['memory', 'sqlite', 'postgres'] as const;

export type StorageForm = (typeof storageForms)[number];
