import { beginning } from '../../domain/quoted-text.ts';
import type { ToolParameters } from './tool.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** A tool's one parameter: a text that must be there. */
export function oneText(name: string, description: string): ToolParameters {
  return {
    type: 'object',
    properties: { [name]: { type: 'string', description } },
    required: [name],
  };
}

/** @returns the text under that name; null where there is none, or something else */
export function textIn(args: Arguments, name: string): string | null {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === 'string' ? value : null;
}

/**
 * @param charactersMax UTF-16 code units; a pair of surrogates is never parted
 * @returns the text, or its beginning with a mark that says so
 */
export function cutText(text: string, charactersMax: number): { text: string; cut: boolean } {
  if (text.length <= charactersMax) return { text, cut: false };
  const kept = beginning(text, charactersMax);
  return {
    text: `${kept}\n[cut: ${kept.length} of ${text.length} characters]`,
    cut: true,
  };
}
