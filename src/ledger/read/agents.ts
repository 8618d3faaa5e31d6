/** The use of a tool, as its row tells it. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import { grantModes, toolOutcomes } from '../../domain/tool-use.ts';
import type { ToolUseRow, ToolUseText } from '../../domain/tool-use.ts';

export type ToolUseRecord = {
  readonly seq: number;
  readonly key: string;
  readonly messageId: string;
  readonly channel: string;
  readonly conversation: string;
  readonly at: number;
  readonly ms: number;
  readonly tool: string;
  readonly mode: string;
  readonly rule: string;
  readonly outcome: string;
  readonly arguments: string;
  readonly told: string | null;
};

export function toolUseOf(record: ToolUseRecord): ToolUseRow {
  const { key, messageId, channel, at, ms, tool, mode, rule, outcome } = record;
  return {
    key,
    messageId,
    channel: channel as ChannelKey,
    at,
    ms,
    tool,
    mode: grantModes.find((known) => known === mode) ?? 'deny',
    rule,
    outcome: toolOutcomes.find((known) => known === outcome) ?? 'unknown',
  };
}

export function toolUseTextOf(record: ToolUseRecord): ToolUseText {
  const conversation = record.conversation as ConversationId;
  return { ...toolUseOf(record), conversation, arguments: record.arguments, told: record.told };
}
