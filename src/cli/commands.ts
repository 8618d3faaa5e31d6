/**
 * Finds the command that the arguments name, and runs it. It loads the file of that command alone.
 */
import type { Config } from '../config/config.ts';
import type { ConfigProblem } from '../config/problems.ts';
import type { Inspection } from '../config/inspect.ts';
import { nearest } from '../config/nearest.ts';
import type { StoragePlace } from '../config/storage-place.ts';
import { programVersion } from '../lib/program.ts';
import { openReader, readConfigInDatabase, type AtServer } from '../app/storage.ts';
import { exitCode, type Command, type Io } from './cli.ts';

type Entry = { readonly name: string; load(): Promise<Command> };

const entries: readonly Entry[] = [
  { name: 'demo', load: async () => (await import('./demo/demo.ts')).demo },
  { name: 'init', load: async () => (await import('./init/init.ts')).createInit() },
  { name: 'serve', load: async () => (await import('./serve.ts')).serve },
  { name: 'desktop', load: async () => (await import('./desktop.ts')).desktop },
  { name: 'chat', load: async () => (await import('./chat.ts')).chat },
  { name: 'try', load: async () => (await import('./try/try.ts')).tryCases },
  { name: 'routes', load: async () => (await import('./routes.ts')).routes },
  { name: 'send', load: async () => (await import('./talk/send.ts')).createSend() },
  { name: 'receive', load: async () => (await import('./talk/receive.ts')).receive },
  { name: 'status', load: async () => (await import('./live/status.ts')).status },
  { name: 'tail', load: async () => (await import('./live/tail.ts')).tail },
  { name: 'messages', load: async () => (await import('./ledger/messages.ts')).messages },
  { name: 'search', load: async () => (await import('./ledger/search.ts')).search },
  { name: 'trace', load: async () => (await import('./ledger/trace.ts')).trace },
  { name: 'deliveries try', load: loadTry },
  { name: 'dead-letters list', load: async () => (await deadLetters()).deadLettersList },
  { name: 'dead-letters show', load: async () => (await deadLetters()).deadLettersShow },
  { name: 'dead-letters replay', load: async () => (await deadLetters()).deadLettersReplay },
  { name: 'dead-letters discard', load: async () => (await deadLetters()).deadLettersDiscard },
  { name: 'conversations list', load: async () => (await conversations()).conversationsList },
  { name: 'conversations show', load: async () => (await conversations()).conversationsShow },
  { name: 'conversations hold', load: async () => (await takeover()).conversationsHold },
  { name: 'conversations answer', load: async () => (await takeover()).conversationsAnswer },
  { name: 'conversations release', load: async () => (await takeover()).conversationsRelease },
  { name: 'conversations export', load: loadExport },
  { name: 'conversations delete', load: loadDelete },
  { name: 'approvals list', load: async () => (await approvals()).approvalsList },
  { name: 'approvals show', load: async () => (await approvals()).approvalsShow },
  { name: 'approvals approve', load: async () => (await approvals()).approvalsApprove },
  { name: 'approvals refuse', load: async () => (await approvals()).approvalsRefuse },
  { name: 'pair', load: async () => (await import('./ledger/pair.ts')).pair },
  { name: 'notes list', load: async () => (await notes()).notesList },
  { name: 'notes clear', load: async () => (await notes()).notesClear },
  { name: 'audit', load: async () => (await import('./ledger/audit.ts')).audit },
  { name: 'spend', load: async () => (await import('./ledger/spend.ts')).spend },
  { name: 'secrets set', load: async () => (await import('./secrets/set.ts')).secretsSet },
  { name: 'secrets list', load: async () => (await import('./secrets/list.ts')).secretsList },
  { name: 'secrets where', load: async () => (await import('./secrets/secrets.ts')).secretsWhere },
  {
    name: 'secrets delete',
    load: async () => (await import('./secrets/secrets.ts')).secretsDelete,
  },
  { name: 'mcp list', load: async () => (await import('./mcp/list.ts')).mcpList },
  { name: 'mcp pin', load: async () => (await import('./mcp/pin.ts')).mcpPin },
  { name: 'backup', load: async () => (await import('./ledger/backup.ts')).backup },
  { name: 'migrate', load: async () => (await import('./ledger/migrate.ts')).migrate },
  { name: 'doctor', load: loadDoctor },
  { name: 'config check', load: loadConfigCheck },
  { name: 'config show', load: async () => (await import('./database-config.ts')).configShow },
  { name: 'config history', load: loadConfigHistory },
  { name: 'config use', load: async () => (await import('./database-config.ts')).configUse },
  { name: 'config schema', load: async () => (await import('./config-schema.ts')).configSchema },
  { name: 'completion', load: loadCompletion },
  { name: 'version', load: async () => (await import('./version.ts')).version },
];

const deadLetters = () => import('./ledger/dead-letters.ts');
const conversations = () => import('./ledger/conversations.ts');
const takeover = () => import('./ledger/takeover.ts');
const approvals = () => import('./ledger/approvals.ts');
const notes = () => import('./ledger/notes.ts');

async function loadTry(): Promise<Command> {
  return (await import('./ledger/deliveries-try.ts')).deliveriesTry;
}

async function loadExport(): Promise<Command> {
  return (await import('./ledger/conversations.ts')).conversationsExport;
}

async function loadDelete(): Promise<Command> {
  return (await import('./ledger/conversations.ts')).conversationsDelete;
}

async function loadConfigHistory(): Promise<Command> {
  return (await import('./database-config.ts')).configHistory;
}

async function loadDoctor(): Promise<Command> {
  return (await import('./doctor/doctor.ts')).doctor;
}

async function loadCompletion(): Promise<Command> {
  const { createCompletion } = await import('./completion/completion.ts');
  return createCompletion(allCommands);
}

/** All public commands, in the order of `svc help`. */
export function allCommands(): Promise<readonly Command[]> {
  return Promise.all(entries.map((entry) => entry.load()));
}

async function loadConfigCheck(): Promise<Command> {
  const { createConfigCheck } = await import('./frame/config-check.ts');
  return createConfigCheck(
    async (inspection, { secrets: lookup, stop: left }) => {
      const { runPreflight } = await import('../app/preflight/preflight.ts');
      const version = programVersion();
      return runPreflight(inspection, { lookup, version, heldDatabase: null, left });
    },
    async (inspection, io) => {
      const { warningsOfSkills } = await import('../app/config/skill-warnings.ts');
      return [
        ...(await warningsOfSkills(inspection)),
        ...(await findStorageWarnings(inspection, io)),
      ];
    },
  );
}

async function findStorageWarnings(
  { validation, storage, text, file }: Inspection,
  io: Io | null,
): Promise<readonly ConfigProblem[]> {
  if (validation.kind === 'invalid') return [];
  const at = await storageToRead(storage, validation.config, io);
  if (at === null) return [];
  const { warnOfPrivateTurns } = await import('../app/config/private-warning.ts');
  const reader = await openReader(at);
  if ('kind' in reader) return [];
  await using open = reader;
  const elsewhere = at.kind === 'server' ? await findOtherConfig(at, text, file) : [];
  return [...elsewhere, ...(await warnOfPrivateTurns(validation.config, open))];
}

/** Warns if another configuration is in use in the database: a start takes that one. */
async function findOtherConfig(at: AtServer, text: string, file: string) {
  const { configElsewhere } = await import('../app/config/own-file.ts');
  const current = await readConfigInDatabase(at);
  const isOther = current !== null && 'text' in current && current.text !== text;
  return isOther ? [configElsewhere(current, file)] : [];
}

/** A database file can always be read. A server may be contacted only if there is an `io`. */
async function storageToRead(place: StoragePlace | null, config: Config, io: Io | null) {
  if (place?.kind !== 'server') return place;
  if (io === null) return null;
  const { findStorage } = await import('./frame/find-storage.ts');
  const at = await findStorage(place, config, io);
  return at?.kind === 'refused' ? null : at;
}

/**
 * Runs the command that the arguments name.
 * @param argv without the program's own name
 * @returns the exit code
 */
export async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  const [first = 'help'] = argv;
  if (first === '--version' || first === '-v') return runCommandLine(['version'], io);
  if (first === 'help' || first === '--help' || first === '-h') return help(argv.slice(1), io);
  if (first === 'internal') return runInternal(argv, io);
  const entry = findEntry(argv);
  if (entry === null) return notFound(argv, io);
  const command = await entry.load();
  const args = argv.slice(entry.name.split(' ').length);
  if (asksForHelp(args)) {
    io.stdout.write(pageOf(command));
    return exitCode.fine;
  }
  return command.run(args, io);
}

/** Processes that svc starts itself. Nobody types their names, so help and completion omit them. */
const roles: Readonly<Record<string, (args: readonly string[], io: Io) => Promise<number>>> = {
  keychain: async (_args, io) => (await import('./internal/keychain.ts')).runKeychainHelper(io),
  'first-run': async (args, io) => {
    return (await import('./internal/first-run.ts')).runFirstRunRole(args, io);
  },
  window: async (args, io) => (await import('./internal/window.ts')).runWindowProcess(args, io),
};

async function runInternal(argv: readonly string[], io: Io): Promise<number> {
  const [, name = '', ...args] = argv;
  const role = Object.hasOwn(roles, name) ? roles[name] : undefined;
  return role === undefined ? notFound(argv, io) : role(args, io);
}

/** @returns the entry with the longest name that the arguments begin with */
function findEntry(argv: readonly string[]): Entry | null {
  for (const words of [2, 1]) {
    const name = argv.slice(0, words).join(' ');
    const entry = entries.find((one) => one.name === name);
    if (entry !== undefined) return entry;
  }
  return null;
}

function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const flags = end < 0 ? args : args.slice(0, end);
  return flags.includes('--help') || flags.includes('-h');
}

async function help(topic: readonly string[], io: Io): Promise<number> {
  const words = topic.filter((word) => !word.startsWith('-') && word !== 'help');
  if (words.length === 0) {
    io.stdout.write(await overview());
    return exitCode.fine;
  }
  const exact = findEntry(words);
  const topics = exact === null ? family(words[0]!) : [exact];
  if (topics.length === 0) return notFound(words, io);
  const pages = await Promise.all(topics.map(async (entry) => pageOf(await entry.load())));
  io.stdout.write(pages.join('\n'));
  return exitCode.fine;
}

/** Commands of two words that share the first one: `config check`, `config schema`. */
function family(word: string): readonly Entry[] {
  return entries.filter((entry) => entry.name.startsWith(`${word} `));
}

function notFound(argv: readonly string[], io: Io): number {
  const [first = ''] = argv;
  const names = [...entries.map((entry) => entry.name), 'help'];
  const near = nearest(argv.slice(0, 2).join(' '), names) ?? nearest(first, names);
  const members = family(first).map((entry) => `"svc ${entry.name}"`);
  const alone = (argv[1] ?? '-').startsWith('-');
  if (members.length > 0 && (alone || near === null)) {
    io.stderr.write(`svc ${first}: say which one: ${either(members)}.\n`);
    return exitCode.usage;
  }
  const hint = near === null ? 'See "svc help".' : `Did you mean "svc ${near}"?`;
  const what = first.startsWith('-') ? 'flag' : 'command';
  const written = members.length > 0 ? argv.slice(0, 2).join(' ') : first;
  io.stderr.write(`svc: there is no ${what} "${written}". ${hint}\n`);
  return exitCode.usage;
}

function either(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), words.at(-1)].filter((part) => part !== '').join(' or ');
}

function pageOf({ usage }: Command): string {
  return `${usage.trimEnd()}\n`;
}

async function overview(): Promise<string> {
  const commands = await allCommands();
  const width = Math.max(...commands.map((command) => command.name.length));
  const lines = commands.map(
    (command) => `  svc ${command.name.padEnd(width)}  ${command.summary}\n`,
  );
  return `svc takes a message from a channel, asks a brain, and sends the reply back.

${lines.join('')}
"svc help <command>" explains one of them. To see it work: svc demo
Exit codes: 0 fine, 1 failed at run time, 2 wrong usage, 78 configuration or secret problem.
`;
}
