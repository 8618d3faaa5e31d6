/**
 * Finds the tools that svc leaves out after a provider refused a request because of a tool. One odd
 * schema of an MCP server makes a provider refuse the whole request.
 */
import { recordOf } from '../../lib/json.ts';
import type { ToolNotice } from '../../domain/completion.ts';

export type RefusedTools = {
  /** The names that the model sees, in offered order; empty: no tool is left out. */
  readonly names: readonly string[];
  /**
   * The way in which svc found them. `name`, `place`: the provider gave the name, or the place in
   * the list. If it reports only a wrong schema, all MCP tools with more than plain arguments are
   * left out (`schema`). If there are none of these, all MCP tools are left out (`server`).
   */
  readonly by: 'name' | 'place' | 'schema' | 'server';
};

const none: RefusedTools = { names: [], by: 'name' };

const wordsMax = 16_384;

/**
 * Reads the errors of OpenAI ("Invalid schema for function 'x'"), Anthropic
 * ("tools.3.custom.input_schema: …"), Gemini ("tools[0].function_declarations[3]…"), Bedrock,
 * FastAPI and llama.cpp ("failed to parse grammar").
 * @param words all words of the provider's error
 * @param offered the tools in the order of the request
 */
export function refusedTools(words: string, offered: readonly ToolNotice[]): RefusedTools {
  const ownWords = beforeQuotation(words.slice(0, wordsMax));
  if (noTools.test(ownWords)) return none;
  const isAboutSchemas = schemaWords.test(ownWords);
  const named = offered.filter(({ name }) => isNamed(name, ownWords));
  // Without a word about tools, the name may come from a quotation of the request.
  if (named.length > 0 && (isAboutSchemas || toolWords.test(ownWords)))
    return refusedBy(named, 'name');
  const placed = [...new Set(placesIn(ownWords))].flatMap((at) => offered[at] ?? []);
  if (placed.length > 0) return refusedBy(placed, 'place');
  if (!isAboutSchemas) return none;
  const foreign = offered.filter(({ name }) => isForeign(name));
  const odd = foreign.filter(({ parameters }) => !isPlain(parameters));
  return odd.length > 0 ? refusedBy(odd, 'schema') : refusedBy(foreign, 'server');
}

function refusedBy(tools: readonly ToolNotice[], by: RefusedTools['by']): RefusedTools {
  return { names: tools.map(({ name }) => name), by };
}

/** The words before a quoted request: some providers repeat it, and it names every tool. */
function beforeQuotation(ownWords: string): string {
  const quoted = ownWords.search(/\{\s*\\?["'](?:model|messages|tools)\\?["']\s*:/);
  return quoted < 0 ? ownWords : ownWords.slice(0, quoted);
}

/** The model supports no tools at all, or not at this moment, so no single tool is at fault. */
const noTools = new RegExp(
  [
    "(?:does not|doesn't|do not|not) support (?:\\w+ ){0,2}(?:tools?\\b|functions?\\b)",
    'tool_choice',
    'tool use is not',
  ].join('|'),
  'i',
);

const toolWords = /\b(?:tools?|functions?|toolSpec|function_?declarations)\b/i;

/** Words about a schema, or about the grammar that llama.cpp makes of all schemas. */
const schemaWords =
  /schema|grammar|initialize samplers|function_?declarations|\btools?\b.*\bparameters?\b/is;

/**
 * Whether the name stands as a whole word: `mcp_a_b_c` does not name `mcp_a_b`. Names of svc's own
 * tools are also English words (`time`), so they must stand in quotes.
 */
function isNamed(name: string, ownWords: string): boolean {
  const isOwn = !isForeign(name);
  for (let at = ownWords.indexOf(name); at >= 0; at = ownWords.indexOf(name, at + 1)) {
    const [before, after] = [ownWords.charAt(at - 1), ownWords.charAt(at + name.length)];
    const isQuoted = /["'`]/.test(before) && /["'`]/.test(after);
    if (isOwn ? isQuoted : !/[\w-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}

const isForeign = (name: string): boolean => name.startsWith('mcp_');

/** Gemini puts all functions into its first tool. */
const functionPlaces = /function_?declarations[[.](\d+)/gi;
/** `tools[3]`, `tools.3`, `tools/3`, `"tools", 3`. */
const toolPlaces = /\btools(?:[[./]|["'],\s*)(\d+)/gi;

function placesIn(ownWords: string): readonly number[] {
  const functions = Array.from(ownWords.matchAll(functionPlaces), ([, at]) => Number(at));
  if (functions.length > 0) return functions;
  return Array.from(ownWords.matchAll(toolPlaces), ([, at]) => Number(at));
}

const plainTypes = new Set(['string', 'number', 'integer', 'boolean']);
const plainKeys = new Set(['type', 'description', 'title', 'default', 'examples', 'enum']);

/**
 * Whether all arguments have simple types, or lists of them, without a rule that a grammar may not
 * support.
 */
function isPlain(parameters: ToolNotice['parameters']): boolean {
  const { properties } = parameters as { readonly properties?: unknown };
  return Object.values(recordOf(properties) ?? {}).every((schema) => {
    const { items, ...own } = schema as Readonly<Record<string, unknown>>;
    if (own['type'] !== 'array') return isPlainValue(schema);
    return isPlainValue({ ...own, type: 'string' }) && (items === undefined || isPlainValue(items));
  });
}

function isPlainValue(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type } = schema as { type?: unknown };
  const isKnown = Object.keys(schema).every((key) => plainKeys.has(key));
  return isKnown && typeof type === 'string' && plainTypes.has(type);
}
