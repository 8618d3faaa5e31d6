import type { SpendSummary } from '../../../src/admin/spend.ts';
import type { SpendBy } from '../../../src/domain/spend.ts';
import { Asking } from '../../kit/asking.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { usePlace } from '../../kit/place.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { upper } from '../../kit/words.ts';
import { FirstMessage } from '../next-step.tsx';
import { OneOf } from '../one-of.tsx';
import { OperatorOnly } from '../operator-only.tsx';
import { Budgets } from './budgets.tsx';
import { SpendTable } from './spend-table.tsx';
import { allOf, byWords, hasCost, roughCost, spanWords, type SpendSpan } from './spend-words.ts';

const everyMs = 10_000;

/** The use and cost of calls to models, and the budgets. */
export function Spend() {
  const { by, days } = useChosen();
  const path = by === 'sender' ? `spend/senders?days=${days}` : `spend?by=${by}&days=${days}`;
  return (
    <>
      <Budgets />
      <Panel title="Spend" aside={<SpanChoice />}>
        <p className="max-w-prose text-soft">
          Every call counts, also retries, models that were asked in vain, and trials. “About”: some
          of it is estimated, since a provider told no tokens. Reserved is the most that calls may
          have used whose end was not seen yet, or never will be.
        </p>
        <ByChoice />
        {by === 'sender' ? (
          <OperatorOnly may="see who used how much">
            <SpendView key={path} path={path} />
          </OperatorOnly>
        ) : (
          <SpendView key={path} path={path} />
        )}
      </Panel>
    </>
  );
}

function SpendView({ path }: { readonly path: string }) {
  const { value: summary, refused } = useAsked<SpendSummary>(path, everyMs);
  const { days } = useChosen();
  if (summary === null) {
    return <Asking refused={refused} />;
  }
  const { rows, total } = summary;
  if (rows.length === 0 && total.calls === 0) {
    return (
      <div className="flex flex-col gap-2">
        <Refusal refused={refused} />
        <p>No model was called {spanWords[days]}.</p>
        <FirstMessage />
      </div>
    );
  }
  const { cost } = total;
  return (
    <>
      <Refusal refused={refused} />
      <p>
        {upper(spanWords[days])}: {allOf(total)}
        {cost === null ? null : (
          <>
            , cost <span title={cost}>{roughCost(cost)}</span>
          </>
        )}
        .
      </p>
      {hasCost(total) ? null : (
        <p className="max-w-prose text-soft">
          No model has a <code>price</code> in the configuration, so nothing is told in money.
        </p>
      )}
      <SpendTable summary={summary} />
    </>
  );
}

const spans = Object.keys(spanWords) as readonly SpendSpan[];
const spanLabels: Readonly<Record<SpendSpan, string>> = { '1': '1 d', '7': '7 d', '30': '30 d' };
const keys = Object.keys(byWords) as readonly SpendBy[];

/** The grouping and span in the page's URL. */
function useChosen(): { readonly by: SpendBy; readonly days: SpendSpan } {
  const { by, days } = usePlace();
  return {
    by: keys.find((key) => key === by) ?? 'model',
    days: spans.find((span) => span === days) ?? '30',
  };
}

function SpanChoice() {
  const { days } = useChosen();
  return (
    <OneOf
      name="How far back"
      field="days"
      values={spans}
      chosen={days}
      format={(span) => spanLabels[span]}
    />
  );
}

function ByChoice() {
  const { by } = useChosen();
  return (
    <OneOf name="Add up by" field="by" values={keys} chosen={by} format={(key) => byWords[key]} />
  );
}
