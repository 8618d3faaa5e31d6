/** A read-only keychain for many names at once. A test can hold its reads back. */
import type { Keychain, KeychainFault, StoredSecrets } from '../../src/secrets/secrets.ts';

export const locked: KeychainFault = {
  kind: 'fault',
  state: 'locked',
  message: 'The keychain is locked.',
  remedy: 'Unlock it.',
};

/** Has these values, and notes the names of each read. */
export class AskedKeychain {
  readonly asked: string[][] = [];
  opened = 0;
  reading = 0;
  readingMost = 0;
  values: Record<string, string> = {};
  stored: StoredSecrets | null = null;
  fault: KeychainFault | null = null;
  /** Each read waits for it. */
  until: Promise<void> = Promise.resolve();

  readonly open = async (): Promise<Keychain> => {
    this.opened++;
    const other = (): never => {
      throw new Error('a look-up does not ask for this');
    };
    return {
      stored: async () => {
        const secrets = Object.keys(this.values).map((name) => ({ name, setAt: 0 }));
        return this.stored ?? { kind: 'stored', secrets };
      },
      read: async (names) => {
        this.asked.push([...names]);
        this.readingMost = Math.max(this.readingMost, ++this.reading);
        await this.until;
        this.reading--;
        if (this.fault !== null) return this.fault;
        const read = names.flatMap((name) => {
          const value = this.values[name];
          return value === undefined ? [] : [[name, value] as const];
        });
        return { kind: 'read', values: new Map(read) };
      },
      state: other,
      holds: other,
      set: other,
      delete: other,
    };
  };
}
