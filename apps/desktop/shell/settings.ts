/** The settings that the shell keeps between starts. No fault of them is worth an error. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../../src/lib/make-folder.ts';
import { OneAtATime } from '../../../src/lib/one-at-a-time.ts';
import type { OnClose } from '../desktop.ts';

export type Settings = {
  /** The last port of the core's pages; 0: there was none. */
  readonly port: number;
  readonly onClose: OnClose;
};

const defaults: Settings = { port: 0, onClose: 'ask' };
const choices: readonly OnClose[] = ['ask', 'keep', 'quit'];

export class SettingsFile {
  readonly #file: string;
  readonly #writes = new OneAtATime();
  #now: Settings = defaults;

  private constructor(file: string) {
    this.#file = file;
  }

  /** A missing or broken file counts as empty. */
  static async read(file: string): Promise<SettingsFile> {
    const settings = new SettingsFile(file);
    settings.#now = parseSettings(await readFile(file, 'utf8').catch(() => ''));
    return settings;
  }

  get now(): Settings {
    return this.#now;
  }

  /** @returns false: the change could not be written, and lasts only until this process ends */
  change(part: Partial<Settings>): Promise<boolean> {
    this.#now = { ...this.#now, ...part };
    return this.#writes.do(() => this.#write());
  }

  /** Replaces the file completely, or not at all. */
  async #write(): Promise<boolean> {
    const temporary = `${this.#file}.${randomUUID()}`;
    try {
      await makeFolder(dirname(this.#file), 0o700);
      const text = `${JSON.stringify(this.#now, null, 2)}\n`;
      await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
      await rename(temporary, this.#file);
      return true;
    } catch {
      await rm(temporary, { force: true }).catch(() => {});
      return false;
    }
  }
}

export function parseSettings(text: string): Settings {
  const read = objectOf(text);
  const { port, onClose } = read;
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
  return {
    port: isPort ? port : defaults.port,
    onClose: choices.find((one) => one === onClose) ?? defaults.onClose,
  };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
