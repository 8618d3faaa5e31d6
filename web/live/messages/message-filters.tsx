/** The inputs of the message filters. */
import { useEffect, useRef, useState, type SyntheticEvent } from 'react';
import { dayMs } from '../../../src/lib/durations.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { ConfigNames } from '../../../src/admin/admin.ts';
import { stateFilters } from '../../../src/domain/records.ts';
import { turnOutcomes } from '../../../src/domain/trace.ts';
import { Button } from '../../kit/button.tsx';
import { SelectField, TextField } from '../../kit/field.tsx';
import { goTo, type Place } from '../../kit/place.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { wordOf } from '../outcome-tone.ts';
import { calendarText, spanIn, spans, timeIn } from './message-filter.ts';

type Choice = { readonly value: string; readonly label: string };

type Format = (value: string) => string;

const any: Choice = { value: '', label: 'any' };
const asIs: Format = (value) => value;

/** The filters of the list; the page's URL holds all of them. */
export function MessageFilters({ place }: { readonly place: Place }) {
  const { value: names } = useAsked<ConfigNames>('config/names');
  const set = (change: Place): void => goTo({ ...place, ...change }, { replace: true });
  const select = (
    name: string,
    label: string,
    choices: readonly Choice[],
    format: Format = wordOf,
  ) => {
    const value = place[name] ?? '';
    const isKnown = choices.some((choice) => choice.value === value);
    return (
      <SelectField
        id={`filter-${name}`}
        label={label}
        value={value}
        options={isKnown ? choices : [...choices, { value, label: format(value) }]}
        onChange={(event) => set({ [name]: event.target.value })}
      />
    );
  };
  const isNarrowed = filterNames.some((name) => (place[name] ?? '') !== '');
  return (
    <div className="grid grid-cols-2 items-end gap-3 sm:grid-cols-3 lg:grid-cols-[repeat(5,minmax(0,12rem))_auto]">
      {select('channel', 'Channel', choicesOf(names?.channels ?? [], channelName), channelName)}
      {select('brain', 'Brain', choicesOf(names?.brains ?? [], asIs), asIs)}
      {select('state', 'State', choicesOf(stateFilters))}
      {select('outcome', 'Outcome', choicesOf(turnOutcomes))}
      <Time place={place} set={set} />
      {isNarrowed ? (
        <Button
          className="justify-self-start"
          onClick={() => goTo({ view: 'messages' }, { replace: true })}
        >
          Show all
        </Button>
      ) : null}
    </div>
  );
}

/** Parameters of the page's URL. */
export const filterNames = ['channel', 'brain', 'state', 'outcome', 'within', 'since', 'until'];

function choicesOf(names: readonly string[], format: Format = wordOf): readonly Choice[] {
  return [any, ...names.map((name) => ({ value: name, label: format(name) }))];
}

type TimeProps = { readonly place: Place; readonly set: (change: Place) => void };

/** Selects a time span back from now, or a range. */
function Time({ place, set }: TimeProps) {
  const { within = '' } = place;
  const from = timeIn(place['since']);
  const to = timeIn(place['until']);
  const isRange = within === '' && (from !== null || to !== null);
  const choose = (value: string): void => {
    const since = String(Date.now() - (spanIn(place)?.ms ?? dayMs));
    set(value === 'range' ? { within: '', since } : { within: value, since: '', until: '' });
  };
  return (
    <>
      <SelectField
        id="filter-within"
        label="Accepted in"
        value={isRange ? 'range' : within}
        options={[
          any,
          ...Object.entries(spans).map(([value, { label }]) => ({ value, label })),
          { value: 'range', label: 'from … to …' },
        ]}
        onChange={(event) => choose(event.target.value)}
      />
      {isRange ? <Range from={from} to={to} set={set} /> : null}
    </>
  );
}

type RangeProps = Pick<TimeProps, 'set'> & Readonly<Record<'from' | 'to', number | null>>;

/** The calendars. The list changes with the button, not with each key. */
function Range({ from, to, set }: RangeProps) {
  const form = useRef<HTMLFormElement>(null);
  const [isEmpty, setIsEmpty] = useState(false);
  // A reset shows the times of the URL, which are the default values.
  // oxlint-disable-next-line react/exhaustive-effect-dependencies
  useEffect(() => form.current?.reset(), [from, to]);
  const show = (event: SyntheticEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const inputs = [...event.currentTarget.querySelectorAll('input')];
    const [since, until] = inputs.map(({ value }) => Date.parse(value));
    setIsEmpty(since! >= until!);
    if (since! >= until!) return;
    set({ since: String(since || ''), until: String(until || '') });
  };
  const ends = [
    ['since', 'From', from],
    ['until', 'To', to],
  ] as const;
  return (
    <form ref={form} onSubmit={show} className="col-span-full flex flex-wrap items-start gap-3">
      {ends.map(([name, label, at]) => (
        <TextField
          key={name}
          {...{ id: name, name, label, step: 1, type: 'datetime-local' }}
          defaultValue={calendarText(at)}
          fault={isEmpty && name === 'until' ? 'Choose a time after “From”.' : null}
        />
      ))}
      <Button type="submit" className="mt-6">
        Show this time
      </Button>
    </form>
  );
}
