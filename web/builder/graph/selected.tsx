import { channelName } from '../../../src/channels/registry.ts';
import { Button } from '../../kit/button.tsx';
import { SelectField } from '../../kit/field.tsx';
import { goTo } from '../../kit/place.ts';
import { State } from '../../kit/state.tsx';
import { isSamePath, startsWith } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { valueAt } from '../document/value.ts';

import type { JsonObject } from '../../../src/config/locate.ts';

import { visible } from '../../kit/visible.ts';
import {
  listedRoutes,
  placeForRoute,
  routesOfChannel,
  titleOfName,
  conditionWords,
  registeredNameIn,
} from '../document/channels.ts';
import { channelsOf, offeredOf } from '../document/starts.ts';
import { completionsChannel } from '../../../src/domain/ids.ts';
import { goToField } from '../shell/going.ts';
import { LiveLink } from '../outline/live-link.tsx';
import { placeWords, withPlaces } from '../outline/place-words.ts';
import { addRoute, removeFrom, route, shareModel, unroute } from './actions.ts';
import { change } from './doing.ts';
import type { Drawing, GraphNode } from './drawing.ts';
import { entriesOf, textAt } from './reading.ts';

/** The selected node: its problems, its connections, its actions. */
export function Selected({ drawing }: { readonly drawing: Drawing }) {
  const selection = useDraft((state) => state.selection);
  const node =
    drawing.nodes.find(({ path }) => isSamePath(path, selection)) ??
    drawing.nodes.findLast(({ path }) => startsWith(selection, path));
  return (
    <aside
      aria-label="What is chosen"
      className="flex shrink-0 flex-col gap-3 border-t border-line bg-paper p-3 lg:max-h-64 lg:overflow-y-auto 2xl:max-h-none 2xl:w-80 2xl:border-s 2xl:border-t-0"
    >
      {node === undefined ? <Nothing empty={drawing.nodes.length === 0} /> : <Chosen node={node} />}
    </aside>
  );
}

function Nothing({ empty }: { readonly empty: boolean }) {
  return (
    <>
      <h2 className="text-base">{empty ? 'Nothing is configured yet' : 'Nothing is chosen'}</h2>
      <p className="text-sm text-soft">
        {empty
          ? 'Begin with a template, or add a channel and a brain above and connect them.'
          : 'Choose a channel, a brain or a model. To let a brain answer a channel, draw a line ' +
            'from one to the other, or choose the channel and say it here.'}
      </p>
      {empty ? (
        <Button kind="main" onClick={() => goTo({ view: 'templates' })}>
          Choose a template
        </Button>
      ) : null}
    </>
  );
}

function Chosen({ node }: { readonly node: GraphNode }) {
  const { kind, title, facts, remark, path, problems } = node;
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  return (
    <>
      <div>
        <h2 className="text-base wrap-anywhere">
          {kind} {title}
        </h2>
        <p className="text-sm text-soft">{facts}</p>
        {remark === null ? null : <p className="text-sm text-soft">{remark}</p>}
      </div>
      {problems.map(({ severity, path: at, message, remedy }) => (
        <div key={`${at} ${message}`} className="text-sm">
          <State tone={severity === 'error' ? 'bad' : 'wait'}>
            {severity === 'error' ? 'Problem' : 'Warning'}
          </State>{' '}
          {placeWords(at, document)}: {withPlaces(message, document)}.{' '}
          <span className="text-soft">{remedy}</span>
        </div>
      ))}
      <Connections node={node} />
      <div className="flex flex-wrap items-center gap-2">
        <Button small kind="main" onClick={() => goTo({ view: 'form' })}>
          Open its form
        </Button>
        {kind === 'brain' ? (
          <Button small onClick={() => goTo({ view: 'try' })}>
            Try it
          </Button>
        ) : null}
        <LiveLink path={path} />
        <Button
          small
          kind="danger"
          disabled={!readable}
          onClick={() => change((now) => removeFrom(now, path), { select: [] })}
        >
          Remove
        </Button>
      </div>
    </>
  );
}

function Connections({ node }: { readonly node: GraphNode }) {
  switch (node.kind) {
    case 'channel':
      return <RoutesOf node={node} />;
    case 'brain':
      return <EndsOf node={node} />;
    case 'API':
    case 'model':
      return null;
    default:
      return node satisfies never;
  }
}

/** The routes of a channel, and the brain that answers every other message. */
function RoutesOf({ node }: { readonly node: GraphNode }) {
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const channel = registeredNameIn(valueAt(document, node.path));
  const brains = entriesOf(document, ['brains']).map(({ value }) => textAt(value, 'name'));
  const routes = routesOfChannel(document, channel);
  const conditional = routes.filter(({ when }) => when !== null);
  const current = routes.find(({ when }) => when === null)?.brain ?? '';
  const names = [...new Set([...brains, current])].filter((name) => name !== '');
  const none = conditional.length === 0 ? 'the channel is not started' : 'a route is missing';
  return (
    <>
      {conditional.length === 0 ? null : (
        <ul aria-label="Routes with conditions" className="flex flex-col gap-1 text-sm">
          {conditional.map(({ path, number, when, brain }) => (
            <li key={number} className="flex flex-wrap items-center gap-x-2 wrap-anywhere">
              <span className="min-w-0 flex-1">
                {visible(`Route ${number}: ${conditionWords(when)} → ${brain || '?'}`)}
              </span>
              <Button
                small
                kind="quiet"
                aria-label={`Open route ${number}`}
                onClick={() => goToField(path)}
              >
                Open
              </Button>
            </li>
          ))}
        </ul>
      )}
      <SelectField
        id="connect-brain"
        label={
          conditional.length === 0
            ? 'Connect to the brain'
            : 'Connect every other message to the brain'
        }
        value={current}
        disabled={!readable || channel === ''}
        onChange={({ target: { value } }) =>
          change((now) => (value === '' ? unroute(now, channel) : route(now, channel, value)), {
            group: `route ${channel}`,
          })
        }
        options={[
          { value: '', label: `none: ${none}` },
          ...names.map((brain) => ({
            value: brain,
            label: brains.includes(brain) ? brain : `${brain} (there is no such brain)`,
          })),
        ]}
      />
      {current === '' ? null : (
        <div>
          <Button small disabled={!readable} onClick={() => addTo(document, channel)}>
            Add a route with conditions
          </Button>
        </div>
      )}
    </>
  );
}

function addTo(document: JsonObject, channel: string): void {
  const path = ['routes', placeForRoute(document, channel)];
  if (change((now) => addRoute(now, channel))) goToField(path);
}

/** The channels that a brain answers, and models of other brains that it could also ask. */
function EndsOf({ node }: { readonly node: GraphNode }) {
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const name = textAt(valueAt(document, node.path), 'name');
  const own = listedRoutes(document).filter(({ brain }) => brain === name && name !== '');
  const offers = offeredOf(document).includes(name) ? [completionsChannel] : [];
  const routed = [...new Set(own.map(({ channel }) => channel)), ...offers];
  const whole = new Set(own.flatMap(({ channel, when }) => (when === null ? [channel] : [])));
  const others = channelsOf(document).filter((channel) => !whole.has(channel));
  const models = entriesOf(document, ['brains'])
    .filter(({ path }) => !isSamePath(path, node.path))
    .flatMap(({ path, value }) => {
      return entriesOf(document, [...path, 'models']).map((model) => ({
        path: model.path,
        label: `${textAt(model.value, 'model_id')}, of ${textAt(value, 'name')}`,
      }));
    });
  return (
    <div className="grid gap-3 sm:grid-cols-2 2xl:grid-cols-1">
      <p className="text-sm sm:col-span-2 2xl:col-span-1">
        {routed.length === 0
          ? 'It answers no channel.'
          : `It answers ${routed.map(channelName).join(', ')}.`}
      </p>
      {others.length === 0 ? null : (
        <SelectField
          id="connect-channel"
          label="Connect to a channel"
          value=""
          disabled={!readable || name === ''}
          onChange={({ target }) => change((now) => route(now, target.value, name))}
          options={[
            { value: '', label: 'Choose a channel' },
            ...others.map((value) => ({ value, label: titleOfName(document, value) })),
          ]}
        />
      )}
      {models.length === 0 ? null : (
        <SelectField
          id="connect-model"
          label="Ask a model of another brain too"
          value=""
          disabled={!readable}
          onChange={({ target }) => {
            const model = models[Number(target.value)];
            if (model !== undefined) change((now) => shareModel(now, model.path, node.path));
          }}
          options={[
            { value: '', label: 'Choose a model' },
            ...models.map(({ label }, index) => ({ value: String(index), label })),
          ]}
        />
      )}
    </div>
  );
}
