/** What svc may have only so much of, and what it says when that was not enough. */
export const shortages = {
  connections: {
    code: 'connections_full',
    sentence: 'A connection was closed unanswered: as many are open as there may be at once.',
  },
  files: {
    code: 'files_full',
    sentence:
      'A connection to elsewhere could not be opened: this process has as many files open as it ' +
      'may. Let it have more (ulimit -n 65536, or LimitNOFILE=65536 of its service).',
  },
} as const;

export type Shortage = keyof typeof shortages;
