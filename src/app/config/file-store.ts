/**
 * Stores the configuration in a file, for one process. Steps for a new text: check → history → file
 * → use. Any failure leaves the file as it was.
 */
import type {
  Applied,
  ConfigAsked,
  ConfigKept,
  ConfigOnDisk,
  ConfigRefused,
  ConfigRow,
  ConfigStore,
  HistoryFault,
} from '../../config/config-control.ts';
import { inspectConfig, inspectText, revisionOf, type ConfigPlace } from '../../config/inspect.ts';
import { readDisk, type Disk } from './file-on-disk.ts';
import { forgetKept, historyFault, keep, listKept, pruneKept, readKept } from './history.ts';
import { heldBackByFile, type Installer, type NextConfig } from './prepare.ts';
import { inNoFile, notSaved, revisionConflict } from '../../config/refusals.ts';
import { replaceFile } from './saved-file.ts';

export class FileConfigStore implements ConfigStore {
  readonly warnings = [];
  readonly #installer: Installer;
  /** null: the configuration came from no file, and is never saved. */
  readonly #place: ConfigPlace | null;
  /** null: the time of the file counts. */
  #savedAt: number | null = null;

  constructor(installer: Installer, place: ConfigPlace | null) {
    this.#installer = installer;
    this.#place = place;
  }

  get place(): 'file' | 'nowhere' {
    return this.#place === null ? 'nowhere' : 'file';
  }

  get file(): string | null {
    return this.#place?.file ?? null;
  }

  async onDisk(): Promise<ConfigOnDisk> {
    if (this.#place === null) {
      return { revision: this.#installer.used().revision, text: null, why: inNoFile };
    }
    const disk = await readDisk(this.#place.file);
    const { revision } = disk;
    if (disk.kind === 'text') return { revision, text: disk.text, why: null };
    return { revision, text: null, why: `${disk.why}.` };
  }

  async history(): Promise<readonly ConfigRow[] | HistoryFault> {
    const { text, revision } = this.#installer.used();
    const savedAt = await this.#savedWhen();
    const now = { revision, savedAt, bytes: Buffer.byteLength(text), used: true };
    if (this.#place === null) return [now];
    const kept = await listKept(this.#place.file).catch(faultOf(this.#place.file));
    if ('kind' in kept) return kept;
    const before = kept.filter((row) => row.revision !== revision);
    return [now, ...before.map((row) => ({ ...row, used: false }))];
  }

  async kept(revision: string): Promise<ConfigKept | HistoryFault | null> {
    const used = this.#installer.used();
    if (revision === used.revision) {
      return { revision, text: used.text, savedAt: await this.#savedWhen() };
    }
    if (this.#place === null) return null;
    const { file } = this.#place;
    const found = await readKept(file, revision).catch(faultOf(file));
    return found === null || 'kind' in found ? found : { revision, ...found };
  }

  async apply({ text, revision, edited, mayAskWith }: ConfigAsked): Promise<Applied> {
    const used = this.#installer.used();
    if (revision !== used.revision) return revisionConflict(used.revision);
    if (this.#place === null) return notSaved(inNoFile);
    const { file, env, addresses } = this.#place;
    const disk = await readDisk(file);
    const writableByOthers = disk.kind === 'text' && disk.writableByOthers;
    const inspection = await inspectText(text, file, env, writableByOthers, addresses);
    const byHand = disk.revision === revisionOf(inspection.text);
    const isEdited = disk.revision !== revision && !byHand;
    const mayReplace = disk.kind !== 'unreadable' && disk.revision === edited;
    if (isEdited && !mayReplace) return fileChanged(file, disk);
    const heldBack = heldBackByFile(byHand);
    const next = await this.#installer.prepare(inspection, { mayAskWith, heldBack });
    if (next.kind === 'refused') return next;
    if (byHand) return this.#useAsItLies(file, next);
    return (await this.#save(file, next, disk)) ?? this.#useSaved(file, next, disk);
  }

  async reload(): Promise<Applied> {
    if (this.#place === null) return notSaved(inNoFile);
    const { file, env, addresses } = this.#place;
    const inspection = await inspectConfig(file, env, 'file', addresses);
    const by = { mayAskWith: () => true, heldBack: heldBackByFile(true) };
    const next = await this.#installer.prepare(inspection, by);
    if (next.kind === 'refused') {
      // The text in use is nowhere else on the disk.
      const { revision, text } = this.#installer.used();
      const isOther = revisionOf(inspection.text) !== revision;
      if (isOther) await this.#try(keep(file, text, await this.#savedWhen()));
      return next;
    }
    return this.#useAsItLies(file, next);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Uses the text that is already in the file. Stores a different previous text in the history. */
  async #useAsItLies(file: string, next: NextConfig): Promise<Applied> {
    const { revision, text } = this.#installer.used();
    const isOther = next.snapshot.revision !== revision;
    if (isOther) await this.#try(keep(file, text, await this.#savedWhen()));
    const applied = await this.#installer.use(next);
    if (applied.kind === 'refused') return applied;
    this.#savedAt = null;
    await this.#try(pruneKept(file, next.snapshot.revision));
    return applied;
  }

  /**
   * Stores the texts in use and on the disk in the history, then replaces the file.
   * @returns null: it is replaced
   */
  async #save(file: string, { snapshot }: NextConfig, disk: Disk): Promise<ConfigRefused | null> {
    const { text, revision } = this.#installer.used();
    try {
      const isEdited = disk.kind === 'text' && disk.revision !== revision;
      if (isEdited) await keep(file, disk.text, disk.savedAt);
      await keep(file, text, await this.#savedWhen());
    } catch (error) {
      return notSaved(historyFault(error, file));
    }
    let found = disk;
    const unchanged = async (): Promise<boolean> => {
      found = await readDisk(file);
      return found.kind === disk.kind && found.revision === disk.revision;
    };
    const saved = await replaceFile(file, { text: snapshot.text, unchanged });
    if (saved.kind === 'saved') return null;
    await this.#try(forgetKept(file, revision));
    return saved.kind === 'changed' ? fileChanged(file, found) : notSaved(saved.message);
  }

  /**
   * Uses the text that was just saved. If it is refused, the previous text goes back into the file.
   */
  async #useSaved(file: string, next: NextConfig, disk: Disk): Promise<Applied> {
    const { revision } = this.#installer.used();
    const { text } = disk.kind === 'text' ? disk : this.#installer.used();
    const applied = await this.#installer.use(next);
    if (applied.kind === 'applied') {
      this.#savedAt = this.#installer.usedAt();
      await this.#try(pruneKept(file, next.snapshot.revision));
      return applied;
    }
    const unchanged = async (): Promise<boolean> =>
      (await readDisk(file)).revision === next.snapshot.revision;
    const undone = await replaceFile(file, { text, unchanged });
    if (undone.kind === 'fault') {
      const detail = `${applied.detail} But the new text still stands in it: ${undone.message}`;
      return { ...applied, detail };
    }
    await this.#try(forgetKept(file, revision));
    return applied;
  }

  /**
   * When the text in use was saved: the file's time, or the time of its use if the file differs.
   */
  async #savedWhen(): Promise<number> {
    if (this.#savedAt !== null) return this.#savedAt;
    const disk = this.#place === null ? null : await readDisk(this.#place.file);
    const isThere = disk?.kind === 'text' && disk.revision === this.#installer.used().revision;
    return isThere ? disk.savedAt : this.#installer.usedAt();
  }

  /** Logs a failure that does not matter for the caller. */
  async #try(act: Promise<void>): Promise<void> {
    await act.catch((error: unknown) => {
      const message = `What was before is not kept: ${historyFault(error, this.file ?? '')}`;
      this.#installer.events.warned({ code: 'history_not_kept', message });
    });
  }
}

/** @param disk neither the text in use nor the requested one */
function fileChanged(file: string, disk: Disk): ConfigRefused {
  const { revision } = disk;
  return { kind: 'refused', code: 'file_changed', detail: sentenceOfDisk(file, disk), revision };
}

function sentenceOfDisk(file: string, disk: Disk): string {
  const askAgain = `ask again with ?edited=${disk.revision}`;
  switch (disk.kind) {
    case 'text':
      return (
        `${file} is not the configuration in use: somebody has edited it. Look at it; send svc a ` +
        `SIGHUP to take it into use, or, to replace it (it is kept in the history), ${askAgain}.`
      );
    case 'missing':
      return `Somebody has removed ${file}. To have it written anew, ${askAgain}.`;
    case 'unreadable':
      return `${disk.why}, so svc cannot keep what it would replace. Move it away by hand.`;
    default:
      return disk satisfies never;
  }
}

function faultOf(file: string): (error: unknown) => HistoryFault {
  return (error) => ({ kind: 'fault', detail: historyFault(error, file) });
}
