/** The inputs of the message filters. */
import { channelName } from '../../../src/channels/registry.ts';
import type { ConfigNames } from '../../../src/admin/admin.ts';
import { messageStates } from '../../../src/domain/records.ts';
import { turnOutcomes } from '../../../src/domain/trace.ts';
import { Button } from '../../kit/button.tsx';
import { SelectField } from '../../kit/field.tsx';
import { goTo, type Place } from '../../kit/place.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { moment, spaced } from '../../kit/words.ts';
import { spans } from './message-filter.ts';

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
    format: Format = spaced,
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
      {select('state', 'State', choicesOf(messageStates))}
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

function choicesOf(names: readonly string[], format: Format = spaced): readonly Choice[] {
  return [any, ...names.map((name) => ({ value: name, label: format(name) }))];
}

type TimeProps = { readonly place: Place; readonly set: (change: Place) => void };

/** Selects a time span, or shows the exact range that a link gave. */
function Time({ place, set }: TimeProps) {
  const { since = '', until = '', within = '' } = place;
  const isStretch = within === '' && (since !== '' || until !== '');
  const named = [since, until].map((at) => (at === '' ? '…' : moment(Number(at)))).join(' – ');
  return (
    <SelectField
      id="filter-within"
      label="Accepted in"
      value={isStretch ? 'stretch' : within}
      options={[
        any,
        ...Object.entries(spans).map(([value, { label }]) => ({ value, label })),
        ...(isStretch ? [{ value: 'stretch', label: named }] : []),
      ]}
      onChange={(event) => set({ within: event.target.value, since: '', until: '' })}
    />
  );
}
