/**
 * Decides which modules the build puts into one file. Each file costs a start a third of a
 * millisecond, so a few files hold all that a service loads before it listens. No client command
 * loads the modules that only a service needs.
 */
import { join } from 'node:path';

/** The bundler's facts of a module; `null` for a module that it does not have. */
type Look = (id: string) => {
  readonly importedIds: readonly string[];
  readonly dynamicallyImportedIds: readonly string[];
} | null;

/** A module that belongs to several chunks goes into the first of them. */
export const chunkNames = ['main', 'thread', 'base', 'records', 'service', 'storage'] as const;

export type Chunks = Readonly<Record<(typeof chunkNames)[number], ReadonlySet<string>>>;

/** `serve` begins its storage before it loads the service. */
const main = ['main.ts', 'cli/version.ts', 'cli/serve.ts'];
const thread = ['ledger/sqlite/write/start-writer.ts'];
const service = [
  'cli/serving.ts',
  'brains/skills.ts',
  'ledger/memory/memory.ts',
  'ledger/memory/reader.ts',
  'ledger/memory/story-ring.ts',
];
const storage = ['ledger/sqlite/sqlite.ts', 'ledger/sqlite/read/thread-reader.ts'];
/** The command that people run most often beside a running service. */
const quickest = ['cli/talk/send.ts'];
/** Modules of commands that run a service, or much of one, in their own process. */
const heavy = new Set([
  'cli/chat.ts',
  'cli/demo/demo.ts',
  'cli/desktop.ts',
  'cli/doctor/doctor.ts',
  'cli/init/init.ts',
  'cli/internal/first-run.ts',
  'cli/internal/window.ts',
  'cli/serve.ts',
  'app/preflight/preflight.ts',
]);

/**
 * @param sources the folder of the sources, absolute
 * @returns the modules of each chunk, by path; the bundler places the modules of no chunk
 */
export function chunksOf(look: Look, sources: string): Chunks {
  const pathOf = (file: string): string => join(sources, file);
  const loadedWith = (ids: readonly string[]): Set<string> => {
    const found = new Set(ids);
    for (const id of found) for (const other of look(id)?.importedIds ?? []) found.add(other);
    return found;
  };
  const served = loadedWith(service.map(pathOf));
  const commands = look(pathOf('cli/commands.ts'))?.dynamicallyImportedIds ?? [];
  const heavyIds = new Set([...heavy].map(pathOf));
  const light = commands.filter((id) => !heavyIds.has(id));
  const looks = (look(pathOf('app/storage.ts'))?.dynamicallyImportedIds ?? []).filter(
    (id) => !storage.map(pathOf).includes(id),
  );
  return {
    main: loadedWith(main.map(pathOf)),
    thread: loadedWith(thread.map(pathOf)),
    base: served.intersection(loadedWith(quickest.map(pathOf))),
    records: served.intersection(loadedWith(light)),
    service: served,
    storage: loadedWith(storage.map(pathOf)).difference(loadedWith([...light, ...looks])),
  };
}
