/**
 * Which tools svc leaves out after a provider refused a request because of a tool. One odd schema
 * of an MCP server makes a provider refuse the whole request.
 */
import { recordOf } from './json.ts';
import type { ToolNotice } from './model.ts';

export type RefusedTools = {
  /** By which the model knows them, in offered order; empty: no tool is to be left out. */
  readonly names: readonly string[];
  /**
   * How they were found. `name`, `place`: the provider gave the name, or the place in the list. It
   * may say only that a schema is wrong. Then they are the MCP tools with more than plain arguments
   * (`schema`), or, if there are none, all MCP tools (`server`).
   */
  readonly by: 'name' | 'place' | 'schema' | 'server';
};

const none: RefusedTools = { names: [], by: 'name' };

/** The beginning of what a provider says may be long. */
const wordsMax = 16_384;

/**
 * @param words of the provider's error, whole
 * @param offered in the order of the request
 * @returns for the words of OpenAI ("Invalid schema for function 'x'"), Anthropic
 *   ("tools.3.custom.input_schema: …"), Gemini ("tools[0].function_declarations[3]…"), Bedrock,
 *   FastAPI and llama.cpp ("failed to parse grammar") alike
 */
export function refusedTools(words: string, offered: readonly ToolNotice[]): RefusedTools {
  const said = beforeQuotation(words.slice(0, wordsMax));
  if (noTools.test(said)) return none;
  const isOfSchemas = ofSchemas.test(said);
  const named = offered.filter(({ name }) => isNamed(name, said));
  // A name alone may stand in a quotation of the request.
  if (named.length > 0 && (isOfSchemas || ofTools.test(said))) return found(named, 'name');
  const placed = [...new Set(placesIn(said))].flatMap((at) => offered[at] ?? []);
  if (placed.length > 0) return found(placed, 'place');
  if (!isOfSchemas) return none;
  const foreign = offered.filter(({ name }) => isForeign(name));
  const odd = foreign.filter(({ parameters }) => !isPlain(parameters));
  return odd.length > 0 ? found(odd, 'schema') : found(foreign, 'server');
}

function found(tools: readonly ToolNotice[], by: RefusedTools['by']): RefusedTools {
  return { names: tools.map(({ name }) => name), by };
}

/** Some repeat the whole request, which names every tool. */
function beforeQuotation(said: string): string {
  const quoted = said.search(/\{\s*\\?["'](?:model|messages|tools)\\?["']\s*:/);
  return quoted < 0 ? said : said.slice(0, quoted);
}

/** The model has no tools at all, or none just now: another remedy than to leave one out. */
const noTools = new RegExp(
  [
    "(?:does not|doesn't|do not|not) support (?:\\w+ ){0,2}(?:tools?\\b|functions?\\b)",
    'tool_choice',
    'tool use is not',
  ].join('|'),
  'i',
);

const ofTools = /\b(?:tools?|functions?|toolSpec|function_?declarations)\b/i;

/** Of a schema, or of the grammar that a server of llama.cpp makes of all schemas. */
const ofSchemas =
  /schema|grammar|initialize samplers|function_?declarations|\btools?\b.*\bparameters?\b/is;

/**
 * As a word of its own: `mcp_a_b` is not named by `mcp_a_b_c`. A name of svc's own tools is a word
 * of English too (`time`), and has to stand in quotes.
 */
function isNamed(name: string, said: string): boolean {
  const isOwn = !isForeign(name);
  for (let at = said.indexOf(name); at >= 0; at = said.indexOf(name, at + 1)) {
    const [before, after] = [said.charAt(at - 1), said.charAt(at + name.length)];
    const isQuoted = /["'`]/.test(before) && /["'`]/.test(after);
    if (isOwn ? isQuoted : !/[\w-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}

const isForeign = (name: string): boolean => name.startsWith('mcp_');

/** Gemini has all functions in its first tool. */
const functionPlaces = /function_?declarations[[.](\d+)/gi;
/** `tools[3]`, `tools.3`, `tools/3`, `"tools", 3`. */
const toolPlaces = /\btools(?:[[./]|["'],\s*)(\d+)/gi;

function placesIn(said: string): readonly number[] {
  const functions = Array.from(said.matchAll(functionPlaces), ([, at]) => Number(at));
  if (functions.length > 0) return functions;
  return Array.from(said.matchAll(toolPlaces), ([, at]) => Number(at));
}

const plainTypes = new Set(['string', 'number', 'integer', 'boolean']);
const plainKeys = new Set(['type', 'description', 'title', 'default', 'examples', 'enum']);

/** Arguments of simple types, or lists of them, without a rule that a grammar could fail at. */
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
