/** One call of one tool, as the dispatcher makes it. */
import { fromNow } from '../support/hand-clock.ts';
import type { Tool, ToolResult, ToolSurroundings } from '../../src/brains/tools/tool.ts';

export type Called = ToolResult | { readonly kind: 'invalid'; readonly text: string };

export async function callTool(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  surroundings: Partial<ToolSurroundings> = {},
): Promise<Called> {
  const checked = tool.check(args);
  if (checked.kind === 'invalid') return checked;
  return checked.run({
    signal: new AbortController().signal,
    deadlineAt: fromNow(60_000),
    sensitivity: 'public',
    key: 'message:1:0',
    note: () => 'Kept.',
    ...surroundings,
  });
}
