import type { BudgetsSummary, LimitSummary } from '../../../src/admin/spend.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Panel } from '../../kit/panel.tsx';
import { State } from '../../kit/state.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { NoBudget } from '../next-step.tsx';
import { fullness, describeLimit } from './spend-words.ts';

const everyMs = 10_000;

/** Today's use of the brains' budgets. */
export function Budgets() {
  const { value: budgets, refused } = useAsked<BudgetsSummary>('spend/budgets', everyMs);
  return (
    <Panel title="Budgets today">
      <Asking value={budgets} refused={refused} />
      {budgets === null ? null : budgets.rows.length === 0 ? (
        <NoBudget />
      ) : (
        <ul aria-label="Budgets today" className="grid gap-3 sm:grid-cols-2">
          {budgets.rows.map(({ brain, limits }) => (
            <li
              key={brain}
              className="flex min-w-0 flex-col gap-2 rounded-md border border-line bg-card px-3 py-2"
            >
              <h3 className="text-sm font-medium wrap-anywhere">
                <AsWritten text={brain} />
              </h3>
              {limits.map((limit) => (
                <Limit key={limit.limit} limit={limit} />
              ))}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Limit({ limit }: { readonly limit: LimitSummary }) {
  const { percent } = limit;
  return (
    <div className="flex flex-col gap-1 text-sm">
      <p className="flex flex-wrap items-baseline justify-between gap-x-3">
        <span>{describeLimit(limit)}</span>
        {percent === null ? null : <Full percent={percent} />}
      </p>
      {percent === null ? null : <Bar percent={percent} />}
    </div>
  );
}

function Full({ percent }: { readonly percent: number }) {
  const [tone, words] = fullness(percent);
  return <State tone={tone}>{words}</State>;
}

const grounds = { good: 'bg-good', wait: 'bg-wait', bad: 'bg-bad', off: 'bg-soft' };

/** Hidden from screen readers, since the text above it says the same. */
function Bar({ percent }: { readonly percent: number }) {
  const [tone] = fullness(percent);
  return (
    <div
      aria-hidden="true"
      className="h-2 overflow-hidden rounded-full border border-line bg-raised"
    >
      <div
        className={`h-full forced-colors:bg-[CanvasText] ${grounds[tone]}`}
        style={{ width: `${Math.min(100, percent)}%` }}
      />
    </div>
  );
}
