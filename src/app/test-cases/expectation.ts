/**
 * Compares the result of a brain with the expectation of a test case, and describes each
 * difference. Pure, since the builder runs it too.
 */
import { isEqual } from '../../config/json-value.ts';
import type { Json, JsonObject } from '../../config/locate.ts';
import { describeCall, type ExpectedCall, type Expectation } from '../../config/test-case.ts';
import type { ToolUse } from '../../domain/tool-use.ts';
import { consensusKey } from '../../brains/policies/consensus.ts';

/** Both are ends of sentences: `expected …`, `but …`. */
export type Miss = { readonly expected: string; readonly came: string };

/** The tool calls that the brain's model asked for, executed or not. */
export type Uses = readonly Pick<ToolUse, 'tool' | 'arguments'>[];

export type Match = 'matches' | 'differs' | 'too_long' | 'too_slow';

/**
 * Checks all expectations but the judge's.
 * @param match tests a pattern on the reply
 */
export function missesOf(
  expect: Expectation,
  reply: string,
  uses: Uses,
  match: (pattern: string, text: string) => Match,
): readonly Miss[] {
  const { text, contains, matches, calls, notCalls } = expect;
  const came = `the reply is “${reply}”`;
  const tools = describeTools(uses);
  const isText = text === null || consensusKey(text) === consensusKey(reply);
  return [
    ...(isText ? [] : [{ expected: `the reply “${text}”`, came }]),
    ...contains
      .filter((part) => !reply.includes(part))
      .map((part) => ({ expected: `a reply that contains “${part}”`, came })),
    ...(matches === null ? [] : missOfPattern(matches, match(matches, reply), came)),
    ...calls
      .filter((call) => !uses.some((use) => isCall(call, use)))
      .map((call) => ({ expected: `a call of ${describeCall(call)}`, came: tools })),
    ...notCalls
      .filter((tool) => uses.some((use) => use.tool === tool))
      .map((tool) => ({ expected: `no call of ${tool}`, came: tools })),
  ];
}

function missOfPattern(pattern: string, found: Match, came: string): readonly Miss[] {
  const expected = `a reply that matches /${pattern}/`;
  switch (found) {
    case 'matches':
      return [];
    case 'differs':
      return [{ expected, came }];
    case 'too_long':
      return [{ expected, came: 'the reply is too long to be matched' }];
    case 'too_slow':
      return [{ expected, came: 'matching the reply took too long; write a simpler pattern' }];
    default:
      return found satisfies never;
  }
}

function isCall({ tool, arguments: wanted }: ExpectedCall, use: Uses[number]): boolean {
  if (use.tool !== tool) return false;
  if (wanted === null) return true;
  const given = readArguments(use.arguments);
  return Object.entries(wanted).every(
    ([name, value]) => Object.hasOwn(given, name) && isEqual(given[name], value),
  );
}

/** Returns an empty object if the arguments are no object or were cut. */
function readArguments(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null ? (value as JsonObject) : {};
  } catch {
    return {};
  }
}

function describeTools(uses: Uses): string {
  if (uses.length === 0) return 'no tool was asked for';
  const calls = uses.map(({ tool, arguments: given }) => `${tool} with ${given}`);
  return `the calls were: ${calls.join('; ')}`;
}
