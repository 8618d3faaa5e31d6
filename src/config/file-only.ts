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
export async function fileOnlyFields(
  next: Brains,
  used: Brains,
  folder: string,
): Promise<readonly string[]> {
  return [...(await foldersElsewhere(next, used, folder)), ...commandsUnknown(next, used)];
}

/** Finds unknown programs. Other arguments or another environment make another program. */
export function commandsUnknown(next: Brains, used: Brains): readonly string[] {
  const knownCommands = commandsOf(used).map(({ command }) => command);
  return commandsOf(next).flatMap(({ path, command }) => {
    if (knownCommands.some((one) => isEqual(one, command))) return [];
    const { env: _, ...withoutEnv } = command;
    const isKnown = knownCommands.some(({ env: _env, ...other }) => isEqual(other, withoutEnv));
    return [`${path}.${isKnown ? 'env' : 'command'}`];
  });
}

type Command = Extract<McpServerConfig['reach'], { kind: 'command' }>;
type PlacedCommand = { readonly path: string; readonly command: Command };

function commandsOf({ brains }: Brains): readonly PlacedCommand[] {
  return brains.flatMap(({ agent }, index) =>
    (agent?.mcp ?? []).flatMap(({ reach }, at): readonly PlacedCommand[] =>
      reach.kind === 'command'
        ? [{ path: `brains[${index}].agent.mcp[${at}]`, command: reach }]
        : [],
    ),
  );
}
