/** A sentence for each tool about what it may do, and the block of limits that it needs. */
export const toolWords: Readonly<Record<string, string>> = {
  time: 'Tells date and time in a zone. Reaches nothing.',
  echo: 'Gives its own text back. Reaches nothing.',
  calc: 'Works out a calculation, exactly. Reaches nothing.',
  read_file:
    'Reads text files below `read_file.root`, and nothing outside it. ' +
    'Whoever talks to the agent can have any file there read.',
  http_fetch: 'Gets a page by GET, from the hosts of `http_fetch.allow_hosts` alone.',
  webhook_call:
    'POSTs JSON to the hosts of `webhook_call.allow_hosts` alone. It can change things there.',
  memory_note:
    'Keeps short notes for later turns, within `memory`. They are read in every prompt; ' +
    'needs `storage`.',
};

const cages: Readonly<Record<string, string>> = {
  read_file: 'read_file',
  http_fetch: 'http_fetch',
  webhook_call: 'webhook_call',
  memory_note: 'memory',
};

/** The key of the block that limits a tool; null: it needs no limits. */
export const cageOf = (tool: string): string | null => cages[tool] ?? null;

/** The tool that a block limits; null: the block limits no tool. */
export const toolOf = (block: string): string | null => {
  return Object.keys(cages).find((tool) => cages[tool] === block) ?? null;
};
