import type { ConfigNames } from '../../../src/admin/admin.ts';
import { Asking } from '../../kit/asking.tsx';
import { Panel } from '../../kit/panel.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { useRefresh } from '../use-refresh.ts';
import { Names } from './names.tsx';
import { OfOperator } from './of-operator.tsx';

/** The configuration in use: names for everybody, its text and earlier ones for operators. */
export function Configuration() {
  const { value, refused, again } = useAsked<ConfigNames>('config/names');
  useRefresh(['plan_used'], again);
  return (
    <>
      <Panel title="Configuration in use">
        <Asking value={value} refused={refused} />
        {value === null ? null : <Names names={value} />}
        <OperatorOnly may="see its text, or restore an earlier one">{null}</OperatorOnly>
      </Panel>
      <OfOperator />
    </>
  );
}
