import type { ToolUseText } from '../../../src/domain/tool-use.ts';
import { LongText } from '../../kit/long-text.tsx';

/** The arguments of a tool call, and the result that the model received. */
export function ToolTexts({ use }: { readonly use: ToolUseText }) {
  const { tool, arguments: given, told } = use;
  return (
    <dl className="flex flex-col gap-1 text-sm">
      <dt className="text-soft">Called with</dt>
      <dd className="rounded-md border border-line bg-card px-3 py-2 font-mono">
        {given === null ? (
          'Without storage this is not kept.'
        ) : (
          <LongText text={given} name={`What ${tool} was called with`} />
        )}
      </dd>
      <dt className="text-soft">The model was told</dt>
      <dd className="rounded-md border border-line bg-card px-3 py-2">
        {told === null ? (
          'This is not kept.'
        ) : (
          <LongText text={told} name={`What the model was told of ${tool}`} />
        )}
      </dd>
    </dl>
  );
}
