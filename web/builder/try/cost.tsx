/** A warning before a trial that may cost money. */
import type { JsonObject } from '../../../src/config/locate.ts';
import { Notice } from '../../kit/notice.tsx';
import type { Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { valueAt } from '../document/value.ts';
import { modelStates, textAt } from '../graph/reading.ts';

/** Models of a brain that may cost money and that send text to another machine. */
export function paidModels(document: JsonObject, brain: Path): readonly string[] {
  const value = valueAt(document, brain);
  return modelStates(isObject(value) ? value : null).flatMap(({ value: model, state }) => {
    const isPaid = state === 'asked' && textAt(model, 'locality') === 'cloud';
    return isPaid ? [textAt(model, 'model_id')] : [];
  });
}

export function CostWarning({ models }: { readonly models: readonly string[] }) {
  if (models.length === 0) return null;
  return (
    <Notice tone="wait">
      {models.join(', ')}:{' '}
      {models.length === 1 ? 'this is a cloud model' : 'these are cloud models'}. A trial really
      asks, so it may cost money, and the text leaves this machine.
    </Notice>
  );
}
