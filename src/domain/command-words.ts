/** Every command that svc answers by itself in a chat, without its slash. The one list of them. */
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

/** A session cannot begin with these, since the configuration has always refused them. */
export const neverTriggers: ReadonlySet<CommandWord> = new Set(['recall', 'notes', 'tools']);

/** @param word as a person writes it. @returns null: svc has no such command */
export function commandWordOf(word: string): CommandWord | null {
  if (!word.startsWith('/')) return null;
  return commandWords.find((one) => one === word.slice(1)) ?? null;
}
