/**
 * Tool calls as text, for models that have no calls of their own: the whole message is one JSON
 * object, bare or in one code fence. Prose is never searched for calls: a page that a tool brought
 * in and the model quotes would run tools.
 */
import type { ToolCall } from '../../domain/outcome.ts';
import type { ToolNotice } from '../../model/model.ts';

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

/** @returns the call that the whole text is; null when it is an answer */
export function callIn(text: string, tools: readonly ToolNotice[]): ToolCall | null {
  const bare = withoutFence(text.trim());
  if (!bare.startsWith('{') || !bare.endsWith('}')) return null;
  let value: unknown;
  try {
    value = JSON.parse(bare);
  } catch {
    return null;
  }
  const { tool, arguments: given } = value as { tool?: unknown; arguments?: unknown };
  if (typeof tool !== 'string' || !tools.some(({ name }) => name === tool)) return null;
  return { id: '', name: tool, arguments: given ?? {} };
}

function withoutFence(text: string): string {
  const found = /^```(?:json)?[ \t]*\r?\n([^]*?)\r?\n?```$/i.exec(text);
  return found === null || found[1]!.includes('```') ? text : found[1]!.trim();
}
