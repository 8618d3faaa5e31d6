/** Tools inside the process that note their calls. */
import type { ToolName } from '../../src/config/config.ts';
import type { Tool, ToolResult, ToolSurroundings } from '../../src/brains/tools/tool.ts';

export type FakeTool = Tool & { readonly ran: Readonly<Record<string, unknown>>[] };

/** A tool with one text parameter; @param more overrides its fields */
export function fakeTool(
  name: ToolName,
  parameter: string | null,
  more: Partial<Tool> & {
    readonly does?: (given: string, surroundings: ToolSurroundings) => Promise<ToolResult> | string;
  } = {},
): FakeTool {
  const { does = (given: string): string => `${name} of ${given}`, ...rest } = more;
  const text = { type: 'string', description: 'It.' };
  const ran: Readonly<Record<string, unknown>>[] = [];
  return {
    name,
    description: `Does ${name}.`,
    parameters: {
      type: 'object',
      properties: parameter === null ? {} : { [parameter]: text },
      required: parameter === null ? [] : [parameter],
    },
    effect: 'none',
    reachesOut: false,
    cage: null,
    check(args) {
      const given = parameter === null ? '' : args[parameter];
      if (typeof given !== 'string') return { kind: 'invalid', text: `${parameter} is no text.` };
      return {
        kind: 'ready',
        async run(surroundings) {
          ran.push(args);
          const result = await does(given, surroundings);
          return typeof result === 'string' ? { kind: 'done', text: result, cut: false } : result;
        },
      };
    },
    ran,
    ...rest,
  };
}
