import type { ComponentType } from 'react';
import { GraphView } from '../graph/graph-view.tsx';
import { JsonView } from '../json/json-view.tsx';

type BuilderView = {
  readonly name: string;
  readonly title: string;
  readonly shows: ComponentType;
};

/** The tabs of the middle. To add one: write a component, and a line here. */
export const views: readonly [BuilderView, ...BuilderView[]] = [
  { name: 'graph', title: 'Graph', shows: GraphView },
  { name: 'json', title: 'JSON', shows: JsonView },
];
