/** The routes of each channel, in the order in which svc tries them. */
import type { ListField, ObjectField } from '../../../src/config/field.ts';
import { schema } from '../../../src/config/schema.ts';
import { Button } from '../../kit/button.tsx';
import { visible } from '../../kit/visible.ts';
import { addEntry } from '../document/added.ts';
import {
  listedChannels,
  listedRoutes,
  takenBy,
  titleOfName,
  type ListedRoute,
} from '../document/channels.ts';
import { routeFor } from '../document/starts.ts';
import { useDraft } from '../document/store.ts';
import { announce } from '../shell/announce.tsx';
import { idOf, leadTo } from '../shell/going.ts';
import { Card, type FormProps } from './entries.tsx';
import type { ComponentType } from 'react';
import { Heading, type InputProps } from './row.tsx';

type Props = InputProps<ListField> & {
  readonly item: ObjectField;
  /** The component for a route's fields. */
  readonly form: ComponentType<FormProps>;
};

const list = ['routes'];

/** All routes: a list for each channel. */
export function RouteLists({ path, field, required, item, form }: Props) {
  const document = useDraft((state) => state.document);
  const id = idOf(path);
  const routes = listedRoutes(document);
  const names = listedChannels(document).map(({ name }) => name);
  const channels = new Set([...names, ...routes.map(({ channel }) => channel)]);
  const add = (): void => {
    const here = addEntry(list);
    if (here === null) return;
    announce('A route is added.');
    leadTo(here);
  };
  return (
    <section
      id={id}
      tabIndex={-1}
      aria-labelledby={`${id}-label`}
      className="flex min-w-0 flex-col gap-3 outline-none"
    >
      <Heading {...{ path, field, required }} />
      {[...channels].map((channel) => (
        <RoutesOf key={channel} channel={channel} routes={routes} item={item} form={form} />
      ))}
      {channels.size > 0 ? null : (
        <div>
          <Button small onClick={add}>
            Add a route
          </Button>
        </div>
      )}
    </section>
  );
}

type OfProps = Pick<Props, 'form'> & {
  /** Its registered name; empty: the routes without a channel. */
  readonly channel: string;
  readonly routes: readonly ListedRoute[];
  readonly item: ObjectField;
};

function RoutesOf({ channel, routes, item, form }: OfProps) {
  const document = useDraft((state) => state.document);
  const own = routes.filter((route) => route.channel === channel);
  const among = own.map(({ index }) => index);
  const title = visible(titleOfName(document, channel));
  const id = `routes-of-${channel}`;
  const add = (): void => {
    const draft = useDraft.getState();
    const here = addEntry(list, routeFor(channel, draft.document));
    if (here === null) return;
    announce(`A route of ${title} is added.`);
    leadTo(here);
  };
  return (
    <div role="group" aria-labelledby={id} className="flex min-w-0 flex-col gap-2">
      <h4 id={id} className="font-medium wrap-anywhere">
        Routes of {title}
      </h4>
      {own.length < 2 ? null : (
        <p className="text-sm text-soft">
          svc tries them in this order and takes the first that fits.
        </p>
      )}
      <ol className="flex min-w-0 flex-col gap-2">
        {own.map((route) => (
          <li key={route.index} className="min-w-0">
            <Card
              path={route.path}
              among={among}
              item={item}
              opens={false}
              form={form}
              title={visible(
                `Route ${route.number}: ${takenBy(route, routes)} → ${route.brain || '?'}`,
              )}
            />
          </li>
        ))}
      </ol>
      {own.length > 0 ? null : <p className="text-sm">No route, so svc does not start it.</p>}
      {channel === '' ? null : (
        <div>
          <Button small onClick={add} aria-label={`Add a route of ${title}`}>
            Add a route
          </Button>
        </div>
      )}
    </div>
  );
}

/** The routes of one channel, for its own page. */
export function RoutesOfChannel({ channel, form }: Pick<OfProps, 'channel' | 'form'>) {
  const document = useDraft((state) => state.document);
  const routes = listedRoutes(document);
  if (channel === '') return null;
  const { items } = schema.fields.routes;
  return <RoutesOf channel={channel} routes={routes} item={items} form={form} />;
}
