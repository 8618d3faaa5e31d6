/**
 * The commands that people may write, as /help and the command menus of messengers list them. Pure.
 */
import type { CommandNotice } from '../channels/channel.ts';
import { beginning } from '../domain/reply.ts';
import type { CommandWord } from '../domain/command-words.ts';
import type { RouteCommand } from './route.ts';
import type { CommandsOn } from './sessions.ts';

/** `writes` is the text that a person writes, with its slash; a session's trigger may have none. */
export type ListedCommand = {
  readonly writes: string;
  readonly description: string;
  readonly takesText: boolean;
};

/**
 * The descriptions, at most 100 characters each, as `CommandNotice` requires. Platforms store them,
 * and svc recognizes its own commands by them. When you reword one, keep the former words known.
 */
const descriptions = {
  trigger: 'Begin a new session: what was said before is no longer in view',
  recall: 'Bring the last exchanges of the session before back into view',
  notes: 'See the notes; /notes clear deletes them',
  tools: 'See which tools there are here, and their last uses',
  approve: 'Approve what waits for a yes, with the code that was told',
  refuse: 'Refuse what waits for a yes, with the code that was told',
  retry: 'Ask the last message again that had no answer',
  help: 'See what can be written here',
} as const satisfies Record<'trigger' | Exclude<CommandWord, 'start'>, string>;

export const ownDescriptions: ReadonlySet<string> = new Set(Object.values(descriptions));

/**
 * Lists triggers first, then the commands of routes. A trigger with the word of a command replaces
 * that command; only an approval with a code still works.
 */
export function commandsListed(
  understood: CommandsOn,
  ofRoutes: readonly RouteCommand[] = [],
): readonly ListedCommand[] {
  const { session, notes, tools, approvals, retries, messenger } = understood;
  const triggers = session?.triggers ?? [];
  const recalls = (session?.recallMax ?? 0) > 0;
  const own = [
    ...(recalls ? [listedCommand('recall', true)] : []),
    ...(notes ? [listedCommand('notes', true)] : []),
    ...(tools ? [listedCommand('tools')] : []),
    ...(approvals ? [listedCommand('approve', true), listedCommand('refuse', true)] : []),
    ...(retries ? [listedCommand('retry')] : []),
    ...(messenger ? [listedCommand('help')] : []),
  ];
  return [
    ...triggers.map((writes) => ({ writes, description: descriptions.trigger, takesText: true })),
    ...ofRoutes.map((command) => ({ ...command, takesText: true })),
    ...own.filter(({ writes }) => !triggers.includes(writes)),
  ];
}

/** What every platform shows of a description. */
const descriptionCharactersMax = 100;
/** Platforms show no more, and leave out the last ones. */
const commandsMax = 100;

/**
 * The commands that a messenger can show: those that begin with a slash. If there are too many,
 * those of routes come last, since /help tells them.
 */
export function noticesOf(
  understood: CommandsOn,
  ofRoutes: readonly RouteCommand[],
): readonly CommandNotice[] {
  const notices = commandsListed(understood, ofRoutes).flatMap(
    ({ writes, description: whole, takesText }) => {
      const description = beginning(whole, descriptionCharactersMax);
      return writes.startsWith('/') ? [{ word: writes.slice(1), description, takesText }] : [];
    },
  );
  if (notices.length <= commandsMax) return notices;
  const isOfRoute = ({ description }: CommandNotice) => !ownDescriptions.has(description);
  return notices.sort((a, b) => Number(isOfRoute(a)) - Number(isOfRoute(b)));
}

function listedCommand(
  word: Exclude<keyof typeof descriptions, 'trigger'>,
  takesText = false,
): ListedCommand {
  return { writes: `/${word}`, description: descriptions[word], takesText };
}
