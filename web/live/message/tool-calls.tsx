import type { ToolUseText } from '../../../src/domain/tool-use.ts';
import { modeWords, outcomeWords, describeRule } from '../../../src/domain/tool-words.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Link } from '../../kit/link.tsx';
import { State } from '../../kit/state.tsx';
import { length } from '../../kit/words.ts';
import { ToolTexts } from '../tools/tool-texts.tsx';
import { toneOfOutcome } from '../outcome-tone.ts';

/** What an agent called in this turn, in its order. */
export function ToolCalls({ tools }: { readonly tools: readonly ToolUseText[] }) {
  if (tools.length === 0) return null;
  return (
    <section aria-labelledby="tool-calls" className="flex flex-col gap-3">
      <h3 id="tool-calls" className="text-sm font-semibold">
        Tools that were called
      </h3>
      <ol className="flex flex-col gap-4">
        {tools.map((use) => (
          <li key={use.key} className="flex flex-col gap-1">
            <p className="flex flex-wrap gap-x-3 text-sm">
              <code className="font-semibold">
                <AsWritten text={use.tool} />
              </code>
              <State tone={toneOfOutcome(use.outcome)}>{outcomeWords[use.outcome]}</State>
              <span className="text-soft">
                {modeWords[use.mode]}: {describeRule(use.rule)}, {length(use.ms)}
              </span>
            </p>
            <ToolTexts use={use} />
          </li>
        ))}
      </ol>
      <p className="text-sm">
        <Link to={{ view: 'tools' }} className="inline-flex min-h-6 items-center">
          Every use of a tool
        </Link>
      </p>
    </section>
  );
}
