/** The one list of the commands that svc answers by itself in a chat, without their slash. */
export const commandWords = [
  'recall',
  'notes',
  'tools',
  'approve',
  'refuse',
  'retry',
  'help',
  'start',
] as const;

export type CommandWord = (typeof commandWords)[number];

/**
 * A session cannot begin with these words: the configuration has always refused them as triggers.
 */
export const neverTriggers: ReadonlySet<CommandWord> = new Set(['recall', 'notes', 'tools']);

/**
 * A route cannot have these commands. The list never grows: where a later svc has a new command, the
 * route that has its word keeps it.
 */
export const neverOfRoutes: ReadonlySet<CommandWord> = new Set([
  'recall',
  'notes',
  'tools',
  'approve',
  'refuse',
  'retry',
  'help',
  'start',
]);

/**
 * @param word as a person writes it, with the slash
 * @returns null: svc has no such command
 */
export function commandWordOf(word: string): CommandWord | null {
  if (!word.startsWith('/')) return null;
  return commandWords.find((one) => one === word.slice(1)) ?? null;
}
