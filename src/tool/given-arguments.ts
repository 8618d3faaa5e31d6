/** What a model gave as arguments, read as it was meant. */
import type { Tool } from './tool.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/**
 * Arguments come as an object or as its JSON text. Where one parameter is missing and one text was
 * given, bare or under another name, the text is that one. Null: nothing of the kind.
 */
export function argumentsOf(tool: Tool, given: unknown): Arguments | null {
  const value = typeof given === 'string' ? parsed(given) : given === undefined ? {} : given;
  const { required } = tool.parameters;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const read = value as Arguments;
    const [only, ...more] = missingIn(tool, read);
    if (only === undefined || more.length > 0) return read;
    const texts = Object.entries(read).filter(
      ([name, text]) =>
        typeof text === 'string' && !Object.hasOwn(tool.parameters.properties, name),
    );
    return texts.length === 1 ? { ...read, [only]: texts[0]![1] } : read;
  }
  if (required.length !== 1 || typeof value !== 'string') return null;
  // A text that begins as JSON and is none was cut or garbled: nobody knows what it should be.
  const garbled = value === given && /^\s*[{[]/.test(value);
  return garbled ? null : { [required[0]!]: value };
}

export function missingIn({ parameters }: Tool, read: Arguments): readonly string[] {
  return parameters.required.filter((name) => !Object.hasOwn(read, name));
}

/** A text that is no JSON is itself. */
function parsed(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
