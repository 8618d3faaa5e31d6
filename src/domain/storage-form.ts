/** What a ledger is kept in. */
export const storageBackends = ['memory', 'sqlite', 'postgres'] as const;

export type StorageBackend = (typeof storageBackends)[number];
