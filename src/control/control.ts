/**
 * Takes configurations into use while svc runs: from the admin API, from the history, from the
 * file when a signal asks for it. One at a time, each by the same steps: check → compare with what
 * needs a restart → secrets → skills → Plan → file → Host. Whatever fails leaves the plan in use
 * as it is, and the file as it was, and says why.
 */
import type { WarningStatus } from '../admin/admin.ts';
import type {
  Applied,
  ConfigAsked,
  ConfigControl,
  ConfigInUse,
  ConfigKept,
  ConfigOnDisk,
  ConfigRefused,
  ConfigRow,
  HistoryFault,
} from '../admin/config-control.ts';
import { forgetKept, historyFault, keep, listKept, pruneKept, readKept } from './history.ts';
import { inspectConfig, inspectText, revisionOf, type Inspection } from '../config/inspect.ts';
import type { OwnAddresses } from '../config/own-addresses.ts';
import { readDisk, type Disk } from './disk.ts';
import { replaceFile } from './saved-file.ts';
import type { Host } from '../run/host.ts';
import type { Log } from '../lib/log.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import type { Plan } from '../run/plan.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';
import type { ServiceKit } from '../service.ts';
import { prepareConfig } from './prepare-config.ts';
import type { AskedBy, ConfigSnapshot, NextConfig } from './prepare-config.ts';
import type { PrivateTurns } from './private-warning.ts';
import { fileChanged, inNoFile, notSaved, revisionConflict } from './refusals.ts';
import { rolledBack, stopping } from './refusals.ts';
import { tellChanges } from './telling.ts';

export type ControlParts = {
  /** Where the configuration came from; null: from no file, and so it stays. */
  readonly source: ConfigSource | null;
  readonly host: Host;
  readonly kit: ServiceKit;
  readonly reader: PrivateTurns;
  readonly lookup: ServiceSecrets;
  readonly log: Log;
  /** Aborted: no new configuration is taken. */
  readonly stop: AbortSignal;
  /** false: an operator is known without the token of the admin block. */
  readonly tokenWanted: boolean;
  /** Of each plan that is in use from now on, the first one aside. */
  readonly onUsed: (plan: Plan) => void;
};

export type ConfigSource = {
  /** Absolute. */
  readonly file: string;
  /** Where this process listens instead of where a configuration says; left out: nowhere. */
  readonly addresses?: OwnAddresses | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file is to be read again whenever the given function is called. */
  readonly onReload: (reload: () => void) => void;
};

export class Control implements ConfigControl {
  readonly #parts: ControlParts;
  readonly #turns = new OneAtATime();
  #used: ConfigSnapshot;
  #usedAt: number;
  /** null: the time of the file is the one to use. */
  #savedAt: number | null = null;
  #reloadWaits = false;
  /** Why the file was not taken into use when a signal asked for it. */
  #notApplied: ConfigRefused | null = null;

  /** @param first what the plan in use was made of */
  constructor(parts: ControlParts, first: ConfigSnapshot) {
    this.#parts = parts;
    this.#used = first;
    this.#usedAt = parts.kit.now();
    parts.source?.onReload(() => void this.#heed());
  }

  get used(): ConfigSnapshot {
    return this.#used;
  }

  get warnings(): readonly WarningStatus[] {
    if (this.#notApplied === null) return this.#used.warnings;
    const message = `The configuration file is not in use: ${this.#notApplied.detail}`;
    const remedy = 'Mend the file and send svc a SIGHUP, or apply one by the admin API.';
    return [{ code: 'config_not_applied', path: '', message, remedy }, ...this.#used.warnings];
  }

  inUse(): ConfigInUse {
    const { text, revision } = this.#used;
    return { text, revision, file: this.#parts.source?.file ?? null, usedAt: this.#usedAt };
  }

  async onDisk(): Promise<ConfigOnDisk> {
    const { source } = this.#parts;
    if (source === null) return { revision: this.#used.revision, text: null, why: inNoFile };
    const disk = await readDisk(source.file);
    const { revision } = disk;
    if (disk.kind === 'text') return { revision, text: disk.text, why: null };
    return { revision, text: null, why: `${disk.why}.` };
  }

  apply(asked: ConfigAsked): Promise<Applied> {
    return this.#turns.do(async () => {
      const applied = await this.#apply(asked);
      this.#tell('operator', applied);
      return applied;
    });
  }

  /** Takes the file as it is when the turn comes: one waiting reload is enough for all. */
  async #heed(): Promise<void> {
    if (this.#reloadWaits) return;
    this.#reloadWaits = true;
    try {
      await this.#turns.do(async () => {
        this.#reloadWaits = false;
        const applied = await this.#reload();
        this.#notApplied = applied.kind === 'refused' ? applied : null;
        this.#tell('signal', applied);
      });
    } catch (error) {
      this.#parts.kit.events.faulted({ where: 'reading the configuration again', error });
    }
  }

  async history(): Promise<readonly ConfigRow[] | HistoryFault> {
    const { source } = this.#parts;
    const { text, revision } = this.#used;
    const savedAt = await this.#savedWhen();
    const now = { revision, savedAt, bytes: Buffer.byteLength(text), used: true };
    if (source === null) return [now];
    const kept = await listKept(source.file).catch(faultOf(source.file));
    if ('kind' in kept) return kept;
    const before = kept.filter((row) => row.revision !== revision);
    return [now, ...before.map((row) => ({ ...row, used: false }))];
  }

  async kept(revision: string): Promise<ConfigKept | HistoryFault | null> {
    const { source } = this.#parts;
    if (revision === this.#used.revision) {
      return { revision, text: this.#used.text, savedAt: await this.#savedWhen() };
    }
    if (source === null) return null;
    const found = await readKept(source.file, revision).catch(faultOf(source.file));
    return found === null || 'kind' in found ? found : { revision, ...found };
  }

  /** Resolves when nothing is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.do(async () => {});
  }

  async #apply({ text, revision, edited, mayAskWith }: ConfigAsked): Promise<Applied> {
    const { source, stop } = this.#parts;
    if (stop.aborted) return rolledBack(stopping);
    if (revision !== this.#used.revision) return revisionConflict(this.#used.revision);
    if (source === null) return notSaved(inNoFile);
    const { file, env, addresses } = source;
    const disk = await readDisk(file);
    const writableByOthers = disk.kind === 'text' && disk.writableByOthers;
    const inspection = await inspectText(text, file, env, writableByOthers, addresses);
    const byHand = disk.revision === revisionOf(inspection.text);
    const isEdited = disk.revision !== revision && !byHand;
    const mayReplace = disk.kind !== 'unreadable' && disk.revision === edited;
    if (isEdited && !mayReplace) return fileChanged(file, disk);
    const next = await this.#prepare(inspection, { mayAskWith, byHand });
    if (next.kind === 'refused') return next;
    if (byHand) return this.#useAsItLies(file, next);
    return (await this.#save(file, next, disk)) ?? this.#useSaved(file, next, disk);
  }

  async #reload(): Promise<Applied> {
    const { source, stop } = this.#parts;
    if (stop.aborted) return rolledBack(stopping);
    if (source === null) return notSaved(inNoFile);
    const { file, env, addresses } = source;
    const inspection = await inspectConfig(file, env, 'file', addresses);
    const next = await this.#prepare(inspection, { mayAskWith: () => true, byHand: true });
    if (next.kind === 'refused') {
      // The text in use stands nowhere else on the disk.
      const { revision, text } = this.#used;
      const isOther = revisionOf(inspection.text) !== revision;
      if (isOther) await this.#try(keep(file, text, await this.#savedWhen()));
      return next;
    }
    return this.#useAsItLies(file, next);
  }

  /** The file holds the next text; where that is another one, the text in use is kept. */
  async #useAsItLies(file: string, next: NextConfig): Promise<Applied> {
    const { revision, text } = this.#used;
    const isOther = next.snapshot.revision !== revision;
    if (isOther) await this.#try(keep(file, text, await this.#savedWhen()));
    const applied = await this.#use(next);
    if (applied.kind === 'refused') return applied;
    this.#savedAt = null;
    await this.#try(pruneKept(file, next.snapshot.revision));
    return applied;
  }

  #prepare(inspection: Inspection, by: AskedBy) {
    return prepareConfig(inspection, { ...this.#parts, used: this.#used, ...by });
  }

  /** Keeps the texts in use and on the disk, then replaces the file. Null: it is replaced. */
  async #save(file: string, { snapshot }: NextConfig, disk: Disk): Promise<ConfigRefused | null> {
    const { text, revision } = this.#used;
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

  /** The file holds the next text; where that is not taken into use, the one before goes back. */
  async #useSaved(file: string, next: NextConfig, disk: Disk): Promise<Applied> {
    const { revision } = this.#used;
    const { text } = disk.kind === 'text' ? disk : this.#used;
    const applied = await this.#use(next);
    if (applied.kind === 'applied') {
      this.#savedAt = this.#usedAt;
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

  async #use({ plan, snapshot, found }: NextConfig): Promise<Applied> {
    const { host, kit, lookup, onUsed, stop } = this.#parts;
    if (stop.aborted) return rolledBack(stopping);
    try {
      const problem = await host.use(plan);
      if (problem !== null) return rolledBack(problem.message);
    } catch (error) {
      kit.events.faulted({ where: 'taking a configuration into use', error });
      if (host.plan !== plan) return rolledBack('Something went wrong in svc itself.');
    }
    const before = this.#used;
    this.#used = snapshot;
    lookup.hold(found);
    this.#usedAt = kit.now();
    this.#notApplied = null;
    onUsed(plan);
    const changes = tellChanges(before, snapshot, kit.events);
    const { revision, warnings } = snapshot;
    return { kind: 'applied', revision, usedAt: this.#usedAt, changes, warnings };
  }

  #tell(by: 'operator' | 'signal', applied: Applied): void {
    const { events } = this.#parts.kit;
    if (applied.kind === 'applied') events.configTried({ by, result: 'applied', detail: null });
    else events.configTried({ by, result: applied.code, detail: applied.detail });
  }

  /** When the text in use was saved: its file's time; where the file differs, that of its use. */
  async #savedWhen(): Promise<number> {
    if (this.#savedAt !== null) return this.#savedAt;
    const { source } = this.#parts;
    const disk = source === null ? null : await readDisk(source.file);
    const isThere = disk?.kind === 'text' && disk.revision === this.#used.revision;
    return isThere ? disk.savedAt : this.#usedAt;
  }

  /** A failure that does no harm to what was asked for is told in the log. */
  async #try(act: Promise<void>): Promise<void> {
    await act.catch((error: unknown) => {
      const { file = '' } = this.#parts.source ?? {};
      const message = `What was before is not kept: ${historyFault(error, file)}`;
      this.#parts.kit.events.warned({ code: 'history_not_kept', message });
    });
  }
}

function faultOf(file: string): (error: unknown) => HistoryFault {
  return (error) => ({ kind: 'fault', detail: historyFault(error, file) });
}
