/** Which process the core is, so that the next shell knows that there is one to wait for. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

export type KnownCore = {
  readonly pid: number;
  /** The configuration file, absolute. */
  readonly config: string;
};

export type CoreRecord = {
  /** null: there was none, or nobody wrote it down. */
  read(): KnownCore | null;
  write(core: KnownCore): void;
  remove(): void;
};

/** What cannot be written costs a later shell its patience, and no more. */
export function createCoreRecord(file: string): CoreRecord {
  return {
    read: () => parse(quietly(() => readFileSync(file, 'utf8')) ?? ''),
    write: (core) =>
      void quietly(() => writeFileSync(file, `${JSON.stringify(core)}\n`, { mode: 0o600 })),
    remove: () => void quietly(() => rmSync(file, { force: true })),
  };
}

function parse(text: string): KnownCore | null {
  const read = quietly(() => JSON.parse(text) as unknown);
  if (typeof read !== 'object' || read === null) return null;
  const { pid, config } = read as Readonly<Record<string, unknown>>;
  const isKnown = typeof pid === 'number' && pid > 0 && typeof config === 'string';
  return isKnown && Number.isSafeInteger(pid) ? { pid, config } : null;
}

function quietly<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
