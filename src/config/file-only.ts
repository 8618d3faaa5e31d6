/**
 * Finds fields that only the file of this machine may bring: programs to start, and folders
 * elsewhere. A person who can write that file can do this anyway. The administrator's token must
 * not give access to the whole machine.
 */
import { foldersElsewhere } from './agent-folders.ts';
import type { Config, McpServerConfig } from './config.ts';
import { isEqual } from './json-value.ts';

type Brains = Pick<Config, 'brains'>;

/**
 * Finds fields of `next` with a folder elsewhere, or with a program to start, that the
 * configuration in use does not have.
 * @param folder the folder of the configuration, absolute
 * @returns paths in the configuration: `brains[0].agent.skills_dir`
 */
export async function fieldsByHand(
  next: Brains,
  used: Brains,
  folder: string,
): Promise<readonly string[]> {
  return [...(await foldersElsewhere(next, used, folder)), ...commandsUnknown(next, used)];
}

/** Finds unknown programs. Other arguments or another environment make another program. */
export function commandsUnknown(next: Brains, used: Brains): readonly string[] {
  const known = commandsOf(used).map(({ command }) => command);
  return commandsOf(next).flatMap(({ path, command }) => {
    if (known.some((one) => isEqual(one, command))) return [];
    const { env: _, ...line } = command;
    const isKnown = known.some(({ env: _env, ...other }) => isEqual(other, line));
    return [`${path}.${isKnown ? 'env' : 'command'}`];
  });
}

type Command = Extract<McpServerConfig['reach'], { kind: 'command' }>;
type Placed = { readonly path: string; readonly command: Command };

function commandsOf({ brains }: Brains): readonly Placed[] {
  return brains.flatMap(({ agent }, index) =>
    (agent?.mcp ?? []).flatMap(({ reach }, at): readonly Placed[] =>
      reach.kind === 'command'
        ? [{ path: `brains[${index}].agent.mcp[${at}]`, command: reach }]
        : [],
    ),
  );
}
