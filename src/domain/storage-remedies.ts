/** What a person does about a storage that takes nothing, by the code of its warning. */
const makeRoom = 'Make room on that disk; svc goes on by itself.';

/** They name nothing of a machine: whoever looks may read them. */
export const storageRemedies = {
  storage_full: makeRoom,
  storage_low: makeRoom,
  storage_locked: 'End that program, or its transaction; svc goes on by itself.',
  storage_away: 'Start the server, or make the way to it free; svc goes on by itself.',
} as const;
