/** The rows of tool calls: `svc.tool_call` for the result, `svc.tool_use` for the audit. */
import { lastOf, stepsOf, type Step } from './statement.ts';

export type ToolUseRow = {
  readonly key: string;
  readonly at: number;
  readonly ms: number;
  readonly tool: string;
  readonly mode: string;
  readonly rule: string;
  readonly outcome: string;
  readonly arguments: string;
  readonly told: string | null;
};

/** A call that will run now. The audit has it from this write on, with the outcome `unknown`. */
export type BegunWrite = ToolUseRow & {
  readonly kind: 'begun';
  readonly messageId: string;
  readonly channel: string;
  readonly conversation: string;
  readonly hash: string;
  readonly private: boolean;
};

export type EndedWrite = {
  readonly kind: 'ended';
  readonly key: string;
  readonly text: string;
  readonly outcome: string;
  readonly ms: number;
};

export const useColumns =
  'key, message_id, channel, conversation, at, ms, tool, mode, rule, outcome, arguments, told';

/**
 * The row of a begun call exists already. The time of its beginning stays, and an outcome that is
 * known never becomes `unknown` again.
 */
export const onKnownUse = `
ON CONFLICT (key) DO UPDATE SET ms = greatest(was.ms, excluded.ms), tool = excluded.tool,
  mode = excluded.mode, rule = excluded.rule, arguments = excluded.arguments,
  told = coalesce(excluded.told, was.told),
  outcome = CASE WHEN excluded.outcome = 'unknown' THEN was.outcome ELSE excluded.outcome END`;

const begin = `
INSERT INTO svc.tool_call (key, message_id, tool, hash, private)
SELECT * FROM json_to_recordset($1) AS x(key text, "messageId" text, tool text, hash text,
  private boolean)
ON CONFLICT (key) DO NOTHING`;

const beginUse = `
INSERT INTO svc.tool_use AS was (${useColumns})
SELECT * FROM json_to_recordset($1) AS x(key text, "messageId" text, channel text,
  conversation text, at bigint, ms double precision, tool text, mode text, rule text, outcome text,
  arguments text, told text)${onKnownUse}`;

const end = `
UPDATE svc.tool_call AS was SET text = x.text, outcome = x.outcome, ms = x.ms
FROM json_to_recordset($1) AS x(key text COLLATE "C", text text, outcome text, ms double precision)
WHERE was.key = x.key`;

const endUse = `
UPDATE svc.tool_use AS was SET outcome = x.outcome, ms = x.ms
FROM json_to_recordset($1) AS x(key text COLLATE "C", outcome text, ms double precision)
WHERE was.key = x.key AND was.outcome = 'unknown'`;

export function begunSteps(writes: readonly BegunWrite[]): readonly Step[] {
  return stepsOf(
    lastOf(writes, ({ key }) => key),
    begin,
    beginUse,
  );
}

export function endedSteps(writes: readonly EndedWrite[]): readonly Step[] {
  return stepsOf(
    lastOf(writes, ({ key }) => key),
    end,
    endUse,
  );
}
