import { Button } from '../kit/button.tsx';
import { goTo, usePlace } from '../kit/place.ts';

type Props<Value extends string> = {
  /** The group's name, which screen readers read first. */
  readonly name: string;
  /** The parameter in the page's URL. */
  readonly field: string;
  readonly values: readonly Value[];
  readonly chosen: Value;
  readonly format: (value: Value) => string;
};

/** A few values side by side, one of which is selected; the page's URL holds it. */
export function OneOf<Value extends string>({ name, field, values, chosen, format }: Props<Value>) {
  const place = usePlace();
  return (
    <div role="group" aria-label={name} className="flex flex-wrap gap-1">
      {values.map((value) => (
        <Button
          key={value}
          small
          kind={value === chosen ? 'plain' : 'quiet'}
          aria-pressed={value === chosen}
          className="forced-colors:aria-pressed:underline"
          onClick={() => goTo({ ...place, [field]: value }, { replace: true })}
        >
          {format(value)}
        </Button>
      ))}
    </div>
  );
}
