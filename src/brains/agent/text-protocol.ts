/**
 * Tool calls as text, for models that have no calls of their own: the whole message is one JSON
 * object with `tool` and `arguments`, bare or in one code fence. Prose is never searched for calls:
 * otherwise a page that the model quotes could run tools.
 */
import type { ToolCall } from '../../domain/outcome.ts';
import type { ToolNotice } from '../models/model.ts';

/** How the model is told to call. */
export function describeCalls(tools: readonly ToolNotice[]): string {
  const list = tools.map(
    ({ name, description, parameters }) =>
      `- ${name}: ${description} Arguments: ${JSON.stringify(parameters)}`,
  );
  return [
    'To use a tool, answer with one JSON object and nothing else:',
    '{"tool": "name", "arguments": {…}}',
    'The result comes in the next message. To answer the person, write plain text instead.',
    'The tools:',
    ...list,
  ].join('\n');
}

/** How a call that was made looks to the model afterwards. */
export function callAsText({ name, arguments: given }: ToolCall): string {
  return JSON.stringify({ tool: name, arguments: given });
}

/** `broken`: the text begins as a call and is no JSON; no such text is meant for a person. */
export type TextRead =
  | { readonly kind: 'answer' }
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'broken' };

/** What the whole text is. Any name is a call: the dispatcher knows what may run. */
export function readText(text: string): TextRead {
  const bare = withoutFence(text.trim());
  if (!bare.startsWith('{')) return { kind: 'answer' };
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(bare) as Record<string, unknown>;
  } catch {
    return { kind: beginsAsCall.test(bare) ? 'broken' : 'answer' };
  }
  const { tool, arguments: given } = value;
  const isCall = typeof tool === 'string' && Object.keys(value).every((key) => callKeys.has(key));
  if (!isCall) return { kind: 'answer' };
  return { kind: 'call', call: { id: '', name: tool, arguments: given ?? {} } };
}

/** An object with other keys is data that someone asked for. */
const callKeys: ReadonlySet<string> = new Set(['tool', 'arguments']);
const beginsAsCall = /^\{\s*"tool"\s*:/;

function withoutFence(text: string): string {
  const found = /^```(?:json)?[ \t]*\r?\n([^]*)```$/i.exec(text);
  return found === null ? text : found[1]!.trim();
}
